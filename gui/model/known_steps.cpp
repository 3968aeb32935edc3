#include "gui/model/known_steps.h"

#include <string>
#include <utility>

namespace hybridscope {
namespace {

// The steps of another source up to one.
class StepsUpTo final : public StepSource {
 public:
  StepsUpTo(std::unique_ptr<StepSource> source, std::int64_t last)
      : source_(std::move(source)), last_(last) {}

  std::string title() const override { return source_->title(); }
  const EngineConfig& config() const override { return source_->config(); }
  RecordLevel level() const override { return source_->level(); }
  std::int32_t digest_version() const override { return source_->digest_version(); }
  std::string request_name(RequestId request) const override {
    return source_->request_name(request);
  }
  Result<const StepStamp*> next() override {
    if (step_ >= last_) return nullptr;
    auto stamp = source_->next();
    if (stamp.ok() && stamp.value() != nullptr) step_ = stamp.value()->step;
    return stamp;
  }
  Result<const StepRecord*> record() override { return source_->record(); }

 private:
  std::unique_ptr<StepSource> source_;
  std::int64_t last_;
  std::int64_t step_ = 0;
};

}  // namespace

Result<std::unique_ptr<StepSource>> known_steps(const ShownRun& run) {
  auto source = run.source();
  if (!source.ok()) return source.error();
  return std::unique_ptr<StepSource>(
      std::make_unique<StepsUpTo>(std::move(source).value(), run.last_known_step()));
}

}  // namespace hybridscope
