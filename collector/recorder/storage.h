// SPDX-License-Identifier: Apache-2.0
// The trace format's rows, their writer and its database, under the recorder's own names.
#pragma once
#include "collector/schema/database.h"
#include "collector/schema/rows.h"
#include "collector/schema/writer.h"

namespace plumb::recorder {

using namespace schema;

}  // namespace plumb::recorder
