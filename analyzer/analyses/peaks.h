// SPDX-License-Identifier: Apache-2.0
// Roofs that the user states for a call: `plumb report --peak network=450GB/s`, in SQL SELECT plumb_peak('network',
// '450GB/s'). They belong to the connection, hold for every device, and go before measured and datasheet roofs.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/trace/database.h"
#include "collector/schema/result.h"

namespace plumb {

// "450GB/s", "3.35TB/s", "989TFLOPS", "989 TFLOP/s", 4.5e11: per second.
[[nodiscard]] Result<double> parseRate(std::string_view text);

// By resource: see Roof.
[[nodiscard]] const std::map<std::string, double>& givenPeaks(Database& database);
// None takes the peak back.
[[nodiscard]] Status givePeak(Database& database, const std::string& resource, std::optional<double> perSecond);
// "network=450GB/s"
[[nodiscard]] Status givePeak(Database& database, std::string_view text);

// plumb_peak(resource, per second): gives a peak, NULL takes it back; the value is what holds from then on.
[[nodiscard]] Status registerPeakFunction(Database& database);

}  // namespace plumb
