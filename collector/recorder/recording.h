// SPDX-License-Identifier: Apache-2.0
// The content of one trace file while it is written: session facts and all processes. Knows nothing of sockets.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collector/recorder/process_feed.h"
#include "collector/recorder/session.h"
#include "collector/recorder/trace_file.h"

namespace plumb::recorder {

class Recording {
 public:
  // command: what is being run, for people; empty: the first process's.
  [[nodiscard]] static Result<std::unique_ptr<Recording>> start(TraceFile file, std::string command, Roofs roofs);

  // A target has connected, under a number of the caller's. Its first records are taken by the next drain().
  void add(int64_t feedId, const transport::Hello& hello, int segmentFd);
  void noteGoodbye(int64_t feedId);
  // The target is gone: takes what is left of it and closes its rows.
  void remove(int64_t feedId);
  // Something that came over the socket made no sense.
  void noteRefused(const std::string& why);

  // One pass over all rings, and a commit if one is due.
  ProcessFeed::Progress drain();
  [[nodiscard]] bool hasFeeds() const noexcept { return !m_feeds.empty() || !m_newcomers.empty(); }

  struct Outcome {
    uint64_t events = 0;
    uint64_t dropped = 0;
    uint32_t processes = 0;
    uint32_t diagnostics = 0;  // warnings and errors
    std::string lanesOff;      // why lanes recorded nothing, a sentence a line
    std::string failure;       // one sentence when the file is not complete
  };
  // Takes what is left (of processes that still run, too) and completes the file.
  [[nodiscard]] Outcome finish();

  [[nodiscard]] const std::string& path() const noexcept { return m_path; }

 private:
  struct Newcomer {
    int64_t feedId;
    transport::Hello hello;
    int segmentFd;
  };
  Recording(TraceFile file, Writer writer, std::string command, Roofs roofs);
  void writeMeta(const std::string& key, const std::string& value);
  // The session begins with its first process, or with the recorder, whichever was earlier.
  void beginSession();
  void admitNewcomers();
  void close(ProcessFeed& feed, bool isGone);
  [[nodiscard]] std::string failureText() const;

  FileLock m_lock;
  std::string m_path;
  Writer m_writer;
  std::string m_command;
  Roofs m_roofs;
  StringTable m_strings;
  Session m_session;
  bool m_begun = false;
  std::vector<Newcomer> m_newcomers;
  std::map<int64_t, ProcessFeed> m_feeds;
  std::vector<std::string> m_refusals;
  std::vector<std::byte> m_buffer;
  Outcome m_outcome;
};

}  // namespace plumb::recorder
