// SPDX-License-Identifier: Apache-2.0
// SQLite for the sources of this program that talk to it. In libplumb_sql.so its functions are those of the program
// that has loaded us, reached through the table of pointers that it hands over.
#pragma once
#ifdef PLUMB_SQLITE_EXTENSION
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3
#else
#include <sqlite3.h>
#endif
