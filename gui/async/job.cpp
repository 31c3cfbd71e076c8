// SPDX-License-Identifier: Apache-2.0
#include "gui/async/job.h"

namespace plumb::gui {

JobRunner::JobRunner(QObject* parent) : QObject(parent) { m_pool.setMaxThreadCount(2); }

JobRunner::~JobRunner() {
  if (m_current) m_current->cancel();
  m_pool.waitForDone();
}

std::shared_ptr<JobControl> JobRunner::newControl() {
  if (m_current) m_current->cancel();
  const auto number = ++m_jobNumber;
  m_current = std::make_shared<JobControl>(
      [this](double share, QString what) {
        QMetaObject::invokeMethod(
            this, [this, share, what = std::move(what)] { emit progressed(share, what); }, Qt::QueuedConnection);
      },
      [this, number](std::function<void()> what) {
        QMetaObject::invokeMethod(
            this,
            [this, number, what = std::move(what)] {
              if (m_current && m_jobNumber == number) what();
            },
            Qt::QueuedConnection);
      });
  emit runningChanged(true);
  return m_current;
}

void JobRunner::finish(const std::shared_ptr<JobControl>& control, const std::function<void()>& done) {
  if (control != m_current) return;
  m_current.reset();
  emit runningChanged(false);
  done();
}

void JobRunner::cancel() {
  if (!m_current) return;
  m_current->cancel();
  m_current.reset();
  emit runningChanged(false);
}

}  // namespace plumb::gui
