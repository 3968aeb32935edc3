#include "tests/sessions/cache_report/cache_report_run.h"

#include <stdexcept>
#include <utility>

#include "sessions/cache_report/cache_words.h"
#include "sessions/cache_report/changed_plan.h"
#include "tests/sessions/record/plan_run.h"

namespace hybridscope::test {

CacheReportRun::CacheReportRun(RunPlan plan)
    : run_(CheckedRun::create(std::move(plan), {.check = std::nullopt, .max_steps = 2000}).value()),
      names_(make_names(run_.engine())),
      cache_(run_.engine().config(), planned_requests(run_.plan(), names_.request)) {
  while (!run_.has_ended()) cache_.add(run_.step().value().trace);
}

const LookupReport& CacheReportRun::lookup(const std::string& request) const {
  const LookupReport* found = nullptr;
  for (const LookupReport& report : cache_.lookups())
    if (names_.request(report.request) == request) found = &report;
  if (found == nullptr) throw std::runtime_error(request + " was not admitted");
  return *found;
}

std::string CacheReportRun::other(const LookupReport& report) const {
  return report.common.request.value < 0 ? "" : names_.request(report.common.request);
}

std::vector<std::string> CacheReportRun::sentences(const std::string& request) const {
  return loss_sentences(lookup(request), cache_.rules(), config(), names_);
}

std::vector<CacheChange> CacheReportRun::changes(const std::string& request) const {
  ChangeSearch search(plan(), 100'000);
  return search.find(
      {.report = lookup(request), .request = request, .other = other(lookup(request))});
}

std::vector<std::string> CacheReportRun::coarser(const std::string& request) const {
  const LookupReport& report = lookup(request);
  std::vector<std::string> sentences;
  for (const CacheChange& change :
       ChangeSearch(plan(), 100'000)
           .coarser_units({.report = report, .request = request, .other = other(report)}))
    sentences.push_back(coarser_sentence(change, report, cache_.rules()));
  return sentences;
}

std::string scenario_text(const std::string& settings, const std::string& requests) {
  return R"({"version": 1, "model": "tiny-mamba2", "settings": {"num_gpu_blocks_override": 64,
             "async_scheduling": false, )" +
         settings + R"(}, "requests": [)" + requests + "]}";
}

std::unique_ptr<CacheReportRun> explain_text(const std::string& scenario) {
  return std::make_unique<CacheReportRun>(plan_of_text(scenario));
}

std::unique_ptr<CacheReportRun> explain_shipped(const std::string& name) {
  return std::make_unique<CacheReportRun>(
      plan_of_file(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/" + name + ".json"));
}

}  // namespace hybridscope::test
