#include "integrations/python/src/plan_book.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "integrations/python/src/given.h"
#include "sessions/job/plan_job.h"
#include "sessions/plan/plan_story.h"
#include "sessions/text/json_reader.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

Result<std::string> run_plan_job(PlanJob& job, const std::string& name, PlanRunOptions run) {
  std::string combination = name;
  for (const OtherStepTime& other : kOtherStepTimes) {
    if (!run.step_time || !name.ends_with(other.suffix)) continue;
    combination.resize(name.size() - other.suffix.size());
    run.step_time = run.step_time->times(other.factor);
    run.name_suffix = other.suffix;
    break;
  }
  const auto of = job.sweep.called(combination);
  if (!of) return invalid_input("the plan has no combination " + quoted_text(name));
  const auto result = run_plan_case(job.sweep, *of, *job.traffic, run);
  if (!result.ok()) return result.error();
  if (!result.value()) return Error{ErrorKind::not_available, "the plan was interrupted"};
  return result_to_json(*result.value()).dump();
}

Result<PlanBook> PlanBook::create(const PlanJobOptions& options) {
  if (Status apart = check_given_files(files_of(options)); !apart.ok()) return apart.error();
  auto job = make_plan_job(options);
  if (!job.ok()) return job.error();
  if (options.out.empty()) return PlanBook(std::move(job).value(), std::nullopt);
  auto file = PlanFile::open(options.out, job.value().header);
  if (!file.ok()) return file.error();
  return PlanBook(std::move(job).value(), std::move(file).value());
}

PlanBook::PlanBook(PlanJob job, std::optional<PlanFile> file)
    : job_(std::move(job)),
      file_(std::move(file)),
      contents_{.header = job_.header, .results = {}} {}

std::vector<std::string> PlanBook::missing() const {
  std::vector<std::string> suffixes = {""};
  if (job_.options.run.step_time)
    for (const OtherStepTime& other : kOtherStepTimes) suffixes.emplace_back(other.suffix);
  std::vector<std::string> names;
  for (const std::string& suffix : suffixes)
    for (std::int64_t index = 0; index < job_.sweep.size(); ++index)
      if (std::string name = job_.sweep.at(index).name + suffix; !contents().results.contains(name))
        names.push_back(std::move(name));
  return names;
}

Status PlanBook::add(const std::string& line) {
  const auto json = parse_json({.text = line, .file = "plan", .line = 1});
  if (!json.ok()) return json.error();
  auto result = read_json("plan", [&] { return plan_result_of_json(JsonValue(json.value())); });
  if (!result.ok()) return result.error();
  if (file_) return file_->add(result.value());
  std::string name = result.value().name;
  contents_.results[std::move(name)] = std::move(result).value();
  return Ok{};
}

nlohmann::ordered_json PlanBook::report() const {
  return plan_to_json(PlanStory(contents(), job_.sweep, job_.options.goals).view());
}

std::string PlanBook::text() const {
  const PlanStory story(contents(), job_.sweep, job_.options.goals,
                        std::ssize(job_.traffic->traffic().requests));
  return format_plan(story.view(), kDefaultRows);
}

}  // namespace hybridscope
