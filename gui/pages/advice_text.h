// SPDX-License-Identifier: Apache-2.0
// Advice as people read it: on the page, as text and as Markdown. Pure. Texts of the trace are escaped.
#pragma once
#include <QString>
#include <optional>
#include <vector>

#include "analyzer/advice/advice.h"
#include "analyzer/analyses/timeline_data.h"

namespace plumb::gui {

// "304.76 ms", as plumb advise prints it; "–" : it is no time, or not known.
[[nodiscard]] QString gainText(const Finding& finding);
// "10.5 %" of what Finding::span says; "–" : not known.
[[nodiscard]] QString shareText(const Finding& finding);

// For the clipboard: the lines that plumb advise prints, and the same as Markdown.
[[nodiscard]] QString findingAsText(const Finding& finding);
[[nodiscard]] QString findingAsMarkdown(const Finding& finding);

// For the page. Events with a place on the timeline are links "event:0", "event:1" … in the order of the evidence.
[[nodiscard]] QString findingAsHtml(const Finding& finding,
                                    const std::vector<std::optional<timeline::SliceRef>>& events);

// What was looked at, and how gains are to be read; "" without findings.
[[nodiscard]] QString scopeText(const Advice& advice);
// Why there is no finding: that nothing was found, or "Cannot say …, because …".
[[nodiscard]] QString whyNoAdvice(const Advice& advice);

// "7 rules cannot say; 12 found nothing", and the reasons in HTML.
[[nodiscard]] QString otherRulesTitle(const Advice& advice);
[[nodiscard]] QString otherRulesAsHtml(const Advice& advice);

}  // namespace plumb::gui
