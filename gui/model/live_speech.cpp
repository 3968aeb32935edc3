#include "gui/model/live_speech.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "core/numeric/hybrid_model.h"
#include "sessions/run/drive.h"

namespace hybridscope {

std::span<const StepSpeech> Speech::up_to(std::int64_t step) const {
  const auto behind = std::ranges::upper_bound(steps_, step, {}, &StepSpeech::step);
  return {steps_.begin(), behind};
}

const StepSpeech* Speech::at(std::int64_t step) const {
  const auto known = up_to(step);
  return known.empty() || known.back().step != step ? nullptr : &known.back();
}

std::vector<SpokenText> Speech::texts_at(std::int64_t step) {
  const auto known = up_to(step);
  if (known.size() < num_told_) {
    texts_ = {};
    num_told_ = 0;
  }
  for (; num_told_ < known.size(); ++num_told_) texts_.add(known[num_told_].words);
  return texts_.sampled();
}

CheckedRunOptions speaking_options(const LanguageModel& speaking, CheckScope scope) {
  CheckedRunOptions options;
  options.check = scope;
  options.language = speaking;
  options.keeps_speech = true;
  return options;
}

LiveSpeech::LiveSpeech(std::shared_ptr<const LanguageModel> speaking, const RunPlan& plan,
                       CheckScope scope)
    : speaking_(std::move(speaking)), scope_(scope) {
  begin(plan);
}

LiveSpeech::~LiveSpeech() { drop(); }

void LiveSpeech::begin(const RunPlan& plan) {
  speech_.reset();
  trouble_.clear();
  has_ended_ = false;
  auto info = make_speech_info(*speaking_->model, plan.setup.config.kv_cache_config,
                               speaking_->folder, speaking_->form);
  if (!info.ok()) {
    trouble_ = info.error().message;
    has_ended_ = true;
    return;
  }
  speech_.emplace(std::move(info).value());
  work_ = std::make_shared<Work>();
  work_->speaking = speaking_;
  work_->plan = plan;
  work_->scope = scope_;
}

void LiveSpeech::drop() {
  if (is_busy()) {
    work_->is_dropped = true;
    dropped_.push_back(std::move(working_));
  }
  working_ = {};
}

void LiveSpeech::compute(Work& work) {
  const auto end = [&work](std::string trouble) {
    const std::lock_guard lock(work.mutex);
    work.trouble = std::move(trouble);
    work.has_ended = true;
  };
  try {
    if (!work.run) {
      auto run = CheckedRun::create(*std::exchange(work.plan, std::nullopt),
                                    speaking_options(*work.speaking, work.scope));
      if (!run.ok()) return end(run.error().message);
      work.run = std::move(run).value();
    }
    std::int64_t reached = 0;
    const auto driven = drive(
        *work.run,
        [&](const CheckedStep& step) {
          reached = step.trace.step;
          const std::lock_guard lock(work.mutex);
          work.made.push_back(*step.speech);
        },
        [&] { return work.is_dropped || reached >= work.target; });
    if (!driven.ok()) return end(driven.error().message);
    if (driven.value() == Going::on) return end({});
  } catch (const std::exception& fault) {  // a fault of the program, or no memory
    end(fault.what());
  }
}

void LiveSpeech::want(std::int64_t step) {
  if (has_ended_ || work_ == nullptr) return;
  work_->target = std::max(work_->target.load(), step);
  if (is_busy() || speech_->last_step() >= step) return;
  working_ = std::async(std::launch::async, [work = work_] { compute(*work); });
}

bool LiveSpeech::take() {
  if (!is_busy()) return false;
  const bool ready = working_.wait_for(std::chrono::milliseconds(1)) == std::future_status::ready;
  if (ready) working_.get();
  std::vector<StepSpeech> made;
  {
    const std::lock_guard lock(work_->mutex);
    made = std::exchange(work_->made, {});
    trouble_ = work_->trouble;
    has_ended_ = work_->has_ended;
  }
  for (StepSpeech& step : made) speech_->add(std::move(step));
  std::erase_if(dropped_, [](const std::future<void>& other) {
    return other.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  });
  return ready || !made.empty();
}

void LiveSpeech::continue_with(const RunPlan& plan, std::int64_t step) {
  const bool goes_on = !is_busy() && trouble_.empty() && speech_ && work_->run &&
                       work_->run->end() != EndReason::no_progress && speech_->last_step() <= step;
  if (!goes_on) {
    drop();
    return begin(plan);
  }
  work_->run->follow(std::make_shared<const RunPlan>(plan));
  work_->has_ended = false;
  has_ended_ = false;
}

}  // namespace hybridscope
