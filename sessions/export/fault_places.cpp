#include "sessions/export/fault_places.h"

#include <fmt/core.h>
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "sessions/explain/explain_finding.h"
#include "sessions/explain/explain_names.h"
#include "sessions/explain/finding_roots.h"
#include "sessions/known_bugs/bug_exhibit.h"
#include "sessions/known_bugs/finding_cause.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/drive.h"

namespace hybridscope {
namespace {

// The findings of a run by rule and request, and what each of them begins with.
struct SeenFaults {
  std::vector<ExportedFault> faults;
  std::vector<std::size_t> beginning_of;  // [faults] in `beginnings`
  std::vector<Finding> beginnings;        // the first finding of each chain; warnings
};

// The place in `beginnings` of the finding's chain; a warning is a chain of its own.
class Beginnings {
 public:
  std::size_t add(const Finding& finding) {
    const bool is_error = rule_info(finding.rule).severity == Severity::error;
    const std::size_t root = is_error ? roots_.add(finding) : place_of_root_.size();
    if (is_error && root < place_of_root_.size()) return place_of_root_[root];
    if (is_error) place_of_root_.push_back(list_.size());
    list_.push_back(finding);
    return list_.size() - 1;
  }
  std::vector<Finding> take() { return std::move(list_); }

 private:
  FindingRoots roots_;
  std::vector<std::size_t> place_of_root_;  // [roots]
  std::vector<Finding> list_;
};

Result<SeenFaults> see_faults(const RunPlan& plan, CheckScope scope) {
  auto created = CheckedRun::create(plan, {.check = scope});
  if (!created.ok()) return created.error();
  CheckedRun& run = created.value();
  const Names names = make_names(run.engine());
  SeenFaults seen;
  Beginnings beginnings;
  const auto driven = drive(run, [&](const CheckedStep& step) {
    for (const Finding& finding : step.findings) {
      const std::size_t beginning = beginnings.add(finding);
      const std::string request =
          finding.request.value >= 0 ? names.request(finding.request) : std::string();
      const auto known = std::ranges::find_if(seen.faults, [&](const ExportedFault& fault) {
        return fault.rule == finding.rule && fault.request == request;
      });
      if (known != seen.faults.end()) {
        ++known->count;
        continue;
      }
      seen.faults.push_back({.rule = finding.rule,
                             .request = request,
                             .first_step = finding.step,
                             .count = 1,
                             .function = std::string(finding_words::source(finding, names)),
                             .bug = {}});
      seen.beginning_of.push_back(beginning);
    }
  });
  if (!driven.ok()) return driven.error();
  seen.beginnings = beginnings.take();
  return seen;
}

// Once for each of its bugs; unchanged without any.
void append_causes(const ExportedFault& fault, const FindingCause& cause,
                   std::vector<ExportedFault>& out) {
  std::vector<const KnownBug*> bugs;
  for (const auto& same : cause.bugs) bugs.insert(bugs.end(), same.begin(), same.end());
  if (bugs.empty()) out.push_back(fault);
  for (const KnownBug* bug : bugs) {
    ExportedFault caused = fault;
    const std::string number = bug_number(*bug);
    caused.bug = "known bug " + (number.empty() ? std::string(bug->id) : number);
    if (const auto exhibit = shipped_bug(bug->id); exhibit.ok())
      caused.function = exhibit.value().function;
    out.push_back(std::move(caused));
  }
}

// "running-state-wrong of C (step 4, 3 in all)"
std::string findings_words(const ExportedFault& fault) {
  return fmt::format("{}{} (step {}{})", rule_info(fault.rule).slug,
                     fault.request.empty() ? "" : " of " + fault.request, fault.first_step,
                     fault.count > 1 ? fmt::format(", {} in all", fault.count) : "");
}

}  // namespace

Result<std::vector<ExportedFault>> faults_of(const Scenario& scenario, const std::string& file,
                                             CheckScope scope) {
  const auto plan = plan_scenario(scenario, file);
  if (!plan.ok()) return plan.error();
  auto seen = see_faults(plan.value(), scope);
  if (!seen.ok()) return seen.error();
  // Causes are asked for only for the chains that a fault is in: a run may have many warnings of
  // one kind.
  std::vector<Finding> wanted;
  std::map<std::size_t, std::size_t> place;  // in `wanted`, by beginning
  for (const std::size_t beginning : seen.value().beginning_of)
    if (place.try_emplace(beginning, wanted.size()).second)
      wanted.push_back(seen.value().beginnings[beginning]);
  const auto causes = find_causes(plan.value(), wanted, {.scope = scope});
  std::vector<ExportedFault> faults;
  for (std::size_t i = 0; i < seen.value().faults.size(); ++i)
    append_causes(seen.value().faults[i], causes[place.at(seen.value().beginning_of[i])], faults);
  return faults;
}

std::vector<FaultPlace> fault_places(const std::vector<ExportedFault>& faults) {
  std::vector<FaultPlace> places;
  for (const ExportedFault& fault : faults) {
    const auto known = std::ranges::find_if(places, [&](const FaultPlace& place) {
      return place.function == fault.function && place.bug == fault.bug;
    });
    if (known != places.end())
      known->findings += ", " + findings_words(fault);
    else
      places.push_back({.part = part_of_function(fault.function),
                        .function = fault.function,
                        .bug = fault.bug,
                        .findings = findings_words(fault)});
  }
  return places;
}

std::string which_test(PartTest part, bool runner_test) {
  if (part == PartTest::pytest) return "The test of hybridscope export --as pytest runs it.";
  if (part == PartTest::none) return "No exported test runs it.";
  return runner_test ? "The test of hybridscope export --as runner-test runs it."
                     : "Only a runner test runs it, which these settings do not allow.";
}

std::vector<std::string> fault_notes(const std::vector<ExportedFault>& faults, PartTest test,
                                     bool runner_test) {
  std::vector<std::string> notes;
  for (const FaultPlace& place : fault_places(faults)) {
    if (place.part.test == test) continue;
    notes.push_back(fmt::format(
        "The fault behind {} lies in {} ({}{}), which this test does not run: it passes with the "
        "fault as well as without. {}",
        place.findings, place.part.words, place.function, place.bug.empty() ? "" : "; " + place.bug,
        which_test(place.part.test, runner_test)));
  }
  return notes;
}

// Which parts of vLLM the exported tests run.

namespace {

struct PartRow {
  std::string_view piece;  // of the function's name, with its file
  VllmPart part;
};

// The first row whose piece is in the name counts.
constexpr std::array kParts = {
    PartRow{"_mamba_block_aligned_split", {"the split of mode align", PartTest::pytest}},
    PartRow{"v1/core/sched/", {"the scheduler", PartTest::none}},
    PartRow{"copy_kv_cache_blocks", {"the worker's copies of whole blocks", PartTest::none}},
    PartRow{"v1/core/", {"the KV-cache manager", PartTest::pytest}},
    PartRow{"v1/worker/gpu/", {"runner V2", PartTest::none}},
    PartRow{"V2 form", {"runner V2", PartTest::none}},
    PartRow{"v1/worker/gpu_input_batch.py", {"the input batch", PartTest::runner_test}},
    PartRow{"_build_attention_metadata", {"the inputs of the metadata builders", PartTest::none}},
    PartRow{"_is_uniform_decode", {"the choice of CUDA graphs", PartTest::none}},
    PartRow{"_dummy_run", {"dummy runs", PartTest::none}},
    PartRow{"_prepare_input_ids", {"the draft tokens that a row is given", PartTest::none}},
    PartRow{"v1/worker/gpu_model_runner.py", {"the runner's rows", PartTest::runner_test}},
    PartRow{"mamba_all", {"the state copies of mode all", PartTest::none}},
    PartRow{"batch_memcpy_kernel", {"the kernels that copy states", PartTest::none}},
    PartRow{"v1/worker/mamba_utils.py", {"the state copies", PartTest::runner_test}},
    PartRow{"BlockTable.move_row", {"dummy runs", PartTest::none}},
    PartRow{"compute_slot_mapping", {"the slots of attention", PartTest::none}},
    PartRow{"v1/attention/", {"the metadata builders", PartTest::none}},
    PartRow{"v1/cudagraph_dispatcher.py", {"the choice of CUDA graphs", PartTest::none}},
    PartRow{"model_executor/", {"the model's layers and kernels", PartTest::none}},
};

}  // namespace

VllmPart part_of_function(std::string_view function) {
  const auto row = std::ranges::find_if(kParts, [&](const PartRow& one) {
    return function.find(one.piece) != std::string_view::npos;
  });
  return row == kParts.end() ? VllmPart{"a part without a test"} : row->part;
}

}  // namespace hybridscope
