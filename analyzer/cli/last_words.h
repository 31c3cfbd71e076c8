// SPDX-License-Identifier: Apache-2.0
// What the program says when it cannot go on.
#pragma once
#include <exception>
#include <string>
#include <string_view>

namespace plumb::cli {

// Writes to standard error; one that is closed or full is nothing that the caller could tell anybody.
void tell(std::string_view text) noexcept;

// Gives standard streams that are closed a place in which they stay useless: else the next file that is opened gets
// their number, and what is said on them is written into it.
void occupyClosedStreams() noexcept;

// For the user, of what nobody expected: that memory is short, that no thread can be started, else its own words.
[[nodiscard]] std::string sentenceOf(const std::exception& failure);

// From now on an exception that nobody can catch, as of a thread that finds no memory, ends the program with a sentence
// and kFailed, and leaves no unfinished output; other reasons to terminate keep their core.
void endTidilyWhenTerminated() noexcept;

}  // namespace plumb::cli
