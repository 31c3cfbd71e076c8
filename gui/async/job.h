// SPDX-License-Identifier: Apache-2.0
// Cancellable work on a worker thread; progress and the result come back on the owner's thread.
#pragma once
#include <QObject>
#include <QString>
#include <QThreadPool>
#include <atomic>
#include <functional>
#include <memory>
#include <utility>

namespace plumb::gui {

// What the work sees of its job. Any thread.
class JobControl {
 public:
  using Post = std::function<void(std::function<void()>)>;
  JobControl(std::function<void(double, QString)> report, Post post)
      : m_report(std::move(report)), m_post(std::move(post)) {}
  [[nodiscard]] bool cancelled() const { return m_cancelled.load(std::memory_order_relaxed); }
  void cancel() { m_cancelled.store(true, std::memory_order_relaxed); }
  // Says how far the work is; false when it should stop.
  [[nodiscard]] bool progress(double share, const QString& what) const {
    if (cancelled()) return false;
    m_report(share, what);
    return true;
  }
  // Runs what on the owner's thread, unless the job has been cancelled by then: for results that come before the end.
  void post(std::function<void()> what) const { m_post(std::move(what)); }

 private:
  std::function<void(double, QString)> m_report;
  Post m_post;
  std::atomic<bool> m_cancelled{false};
};

// Runs one job at a time: starting another cancels the one before, whose result is then dropped. Destruction cancels
// and waits, so work must look at its control now and then.
class JobRunner : public QObject {
  Q_OBJECT

 public:
  explicit JobRunner(QObject* parent = nullptr);
  ~JobRunner() override;

  // work runs on a worker thread and must not touch widgets; done gets what it returned, on this object's thread.
  template <class Work, class Done>
  void start(Work work, Done done) {
    const auto control = newControl();
    m_pool.start([this, control, work = std::move(work), done = std::move(done)]() mutable {
      auto result = std::make_shared<decltype(work(*control))>(work(*control));
      QMetaObject::invokeMethod(
          this,
          [this, control, result, done = std::move(done)]() mutable {
            finish(control, [&] { done(std::move(*result)); });
          },
          Qt::QueuedConnection);
    });
  }
  void cancel();
  [[nodiscard]] bool running() const { return m_current != nullptr; }

 signals:
  void progressed(double share, const QString& what);
  void runningChanged(bool running);

 private:
  std::shared_ptr<JobControl> newControl();
  void finish(const std::shared_ptr<JobControl>& control, const std::function<void()>& done);

  QThreadPool m_pool;
  std::shared_ptr<JobControl> m_current;
  uint64_t m_jobNumber = 0;
};

}  // namespace plumb::gui
