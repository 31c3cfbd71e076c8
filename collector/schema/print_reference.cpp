// SPDX-License-Identifier: Apache-2.0
// plumb_schema_reference > collector/schema/REFERENCE.md
#include <cstdio>

#include "collector/schema/reference.h"
#include "collector/schema/schema.h"

int main() {
  const std::string page = plumb::schema::referencePage(plumb::schema::tablesSql(), plumb::schema::ownViewsSql(),
                                                        plumb::schema::nsysViewsSql());
  return std::fwrite(page.data(), 1, page.size(), stdout) == page.size() ? 0 : 1;
}
