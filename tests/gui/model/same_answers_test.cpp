// A run that an engine makes and its recording are shown alike: at every step, however it was
// reached, each answer of the interface is compared. What may differ, and why, is in the tables.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gui/model/live_run.h"
#include "gui/model/recorded_run.h"
#include "sessions/explain/explain_finding.h"
#include "sessions/known_bugs/bug_exhibit.h"
#include "sessions/record/step_digests.h"
#include "tests/gui/model/shown_scenario.h"
#include "tests/sessions/record/plan_run.h"
#include "tests/storage/recorded_run.h"

namespace hybridscope::same_answers_test {
namespace {

// Each answer as text, by its name. Texts of answers that are not known are empty.
using Answers = std::map<std::string, std::string>;

std::string list_of(const auto& values) {
  std::string text;
  for (const auto& value : values) text += fmt::format(" {}", value);
  return text;
}

std::string words(const WriteEvent& event) {
  return fmt::format("{}/{}/{}/r{}/{}", static_cast<int>(event.kind), event.step, event.ordinal,
                     event.request.value, event.num_tokens);
}

std::string words(const HeldContent& held) {
  return fmt::format("{} {:x}", words(held.event), held.fingerprint);
}

std::string words(const StateWrite& write) {
  return fmt::format("[{} group {} content {} column {} block {} {:x}]", words(write.event),
                     write.group, static_cast<int>(write.content), write.column, write.block,
                     write.fingerprint);
}

std::string words(const NamedStepArrays& arrays) {
  if (arrays.step == 0) return {};
  std::string text = fmt::format("step {}", arrays.step);
  for (const NamedArrayGroup& group : arrays.groups)
    for (const NamedArray& array : group.arrays)
      text += fmt::format("; {} {} {}:{}", group.group, array.name, array.present,
                          list_of(array.values));
  return text;
}

std::string words(const StepActivity& activity) {
  if (!activity.known) return {};
  std::string text = fmt::format("step {} returns {}:", activity.step, activity.committed_step);
  for (const RequestActivity& of : activity.requests)
    text += fmt::format(" [r{} {} {} {}{}{}{} {} {} {} {}]", of.request.value,
                        static_cast<int>(of.kind), static_cast<int>(of.skipped), of.admitted,
                        of.resumed, of.finished, of.returned, of.num_tokens, of.num_draft_tokens,
                        of.num_accepted_drafts, of.num_returned);
  return text;
}

std::string table_words(const auto& tables) {
  std::string text;
  for (const RequestId request : tables.requests())
    for (std::int32_t group = 0; group < tables.num_groups(); ++group)
      text += fmt::format(" r{} group {}:{}", request.value, group,
                          list_of(tables.block_ids(request, group)));
  return text;
}

std::string words(const BlockFacts& facts) {
  if (!facts.label_known) return {};
  return fmt::format("{} group {} tokens {} {:x} in {} partial {} checkpoint {}", facts.registered,
                     facts.label_group, facts.label_num_tokens, facts.block_hash,
                     facts.registered_in, facts.partial_num_tokens, facts.checkpoint);
}

std::string content_words(const BlockFacts& facts) {
  if (!facts.writes_known) return {};
  return fmt::format("{}; {}; {}", words(facts.temporal), words(facts.conv),
                     words(facts.attention));
}

std::string words(const Result<WriteChain>& chain) {
  if (!chain.ok()) return {};
  std::string text = fmt::format("end {}:", static_cast<int>(chain.value().end));
  for (const StateWrite& write : chain.value().writes) text += words(write);
  return text;
}

std::string words(const std::optional<OwnCount>& count) {
  if (!count) return {};
  return fmt::format("step {} accepted {} class {} c {} q {} missing {}", count->step,
                     count->num_accepted_tokens, static_cast<int>(count->row_class),
                     count->num_computed_tokens, count->num_query_tokens,
                     count->missing_copy.has_value());
}

std::string words(const RequestCounts& counts) {
  if (counts == RequestCounts()) return {};
  return fmt::format("prompt {} computed {} generated {} preemptions {}", counts.num_prompt_tokens,
                     counts.num_computed_tokens, counts.num_generated, counts.num_preemptions);
}

std::string words(const CacheReport* report) {
  if (report == nullptr) return {};
  std::string text;
  for (const LookupReport& lookup : report->lookups())
    text += fmt::format("[step {} r{} common {} hit {} possible {} next {} evicted {}:{}]",
                        lookup.step, lookup.request.value, lookup.common.num_tokens,
                        lookup.num_hit_tokens, lookup.num_possible_tokens, lookup.next_state,
                        lookup.evicted_state.step, list_of(lookup.lost));
  return text + ".";
}

class Asked {
 public:
  explicit Asked(ShownRun& run) : run_(run) {}

  // Asks until nothing more is read from the file.
  Answers settled() {
    Answers before = now();
    for (int i = 0; i < 400; ++i) {
      const bool more = run_.load_more() || run_.awaits_more();
      Answers after = now();
      if (!more && after == before) return after;
      before = std::move(after);
    }
    ADD_FAILURE() << "the run does not come to rest";
    return before;
  }

 private:
  Answers now() {
    answers_.clear();
    ask_step();
    ask_blocks();
    ask_requests();
    ask_run();
    return answers_;
  }

  void add(const std::string& name, std::string text) { answers_[name] += std::move(text) + "\n"; }

  void ask_step() {
    const StepView view = run_.view();
    add("step", fmt::format("{} {}", run_.step(), view.trace.step));
    add("view.trace", step_in_words(run_));
    StepDigester digester([&](RequestId id) { return view.names.request(id); });
    for (const std::uint64_t digest : digester.digest(view.trace, view.findings).of)
      add("view.digests", fmt::format("{:x}", digest));
    add("view.scheduler_tables", table_words(view.scheduler_tables));
    add("view.worker_tables", table_words(view.worker_tables));
    for (const Finding& finding : view.findings)
      add("view.findings", explain_finding(finding, view.names));
    for (const StateWrite& write : view.writes) add("view.writes", words(write));
    for (const WorkerTableChange& change : view.worker_changes)
      add("view.worker_changes", fmt::format("r{} {} {} {}", change.request.value, change.group,
                                             change.column, change.block));
    add("config", fmt::format("{} {}", run_.config().policies == view.config.policies,
                              static_cast<int>(run_.config().mamba_cache_mode)));
    add("previous_arrays", words(run_.previous_arrays()));
    const ComingStep coming = run_.coming_step();
    add("coming_step", !coming.known ? std::string()
                       : coming.ends ? std::string("the end")
                                     : words(coming.activity) + list_of(coming.names));
  }

  void ask_blocks() {
    const std::int32_t num_blocks = run_.config().kv_cache_config.num_blocks;
    for (std::int32_t block = 0; block < std::min(num_blocks, kMostBlocks); ++block) {
      const BlockFacts facts = run_.block_facts(block);
      add("block_facts, label", words(facts));
      add("block_facts, contents", content_words(facts));
      add("conv_tokens", list_of(run_.conv_tokens(block)));
      for (const ContentKind content :
           {ContentKind::temporal, ContentKind::conv, ContentKind::attention})
        add("write_chain", words(run_.write_chain(block, content)));
    }
    if (const auto queue = run_.free_queue()) add("free_queue", list_of(*queue));
  }

  void ask_requests() {
    for (const RequestId request : run_.unfinished())
      add("unfinished", std::to_string(request.value));
    const auto& scheduled = run_.view().trace.scheduled;
    for (std::int32_t number = 0; number < run_.num_requests(); ++number) {
      const RequestId request{number};
      const std::string name = run_.names().request(request);
      if (run_.first_step(request) > run_.step()) continue;
      add("names", name);
      add("first_step", std::to_string(run_.first_step(request)));
      add("find_request", std::to_string(run_.find_request(name).value));
      add("own_count", words(run_.own_count(request)));
      const std::int32_t hit = run_.num_hit_tokens(request);
      add("num_hit_tokens", hit < 0 ? std::string() : std::to_string(hit));
      const auto prompt = run_.cached_prompt(request);
      add("cached_prompt",
          prompt ? fmt::format("{} {}", prompt->num_prompt_tokens, prompt->shared_prefix_boundary)
                 : std::string());
      // It is asked for requests that the step does not schedule.
      if (std::ranges::find(scheduled, request, &ScheduledTrace::request) == scheduled.end())
        add("request_counts", words(run_.request_counts(request)));
    }
  }

  void ask_run() {
    add("last_known_step", fmt::format("{} {}", run_.last_known_step(), run_.is_whole()));
    add("num_requests", std::to_string(run_.num_requests()));
    for (const StepMark& mark : run_.marks())
      add("marks", mark_words(mark) + fmt::format(" {} {}", mark.warns, mark.errs));
    for (const StepActivity& activity : run_.activities(0, run_.marks().size()))
      add("activities", words(activity));
    for (const ShownFinding& shown : run_.findings())
      add("finding_log", shown.text + " | " + shown.decision);
    for (const FindingChain& chain : run_.finding_log().chains())
      add("finding_log", fmt::format("{} {} {} {} {}", chain.first, chain.first_step,
                                     chain.num_following, chain.num_listed, chain.at_least));
    for (std::int32_t block = 0; block < run_.config().kv_cache_config.num_blocks; ++block)
      add("block_faults", std::to_string(run_.block_faults().names(block)));
    add("bookmarks", std::to_string(run_.bookmarks().size()));
    add("cache_report", words(run_.cache_report()));
    add("plan", run_.plan() == nullptr ? std::string() : run_.plan()->name);
    add("end", std::string(session_status_name(run_.end().status)) + run_.end().reason);
  }

  static constexpr std::int32_t kMostBlocks = 24;
  ShownRun& run_;
  Answers answers_;
};

// What a recording may answer otherwise, and why.
enum class Answer : std::uint8_t { not_known, in_part };
struct Otherwise {
  std::string_view answer;
  Answer how;
  std::string_view why;
};

// What a level below full does not keep.
constexpr Otherwise kAtBlocks[] = {
    {"block_facts, contents", Answer::not_known, "writes to state"},
    {"conv_tokens", Answer::not_known, "writes to state"},
    {"previous_arrays", Answer::not_known, "metadata arrays"},
    {"view.digests", Answer::in_part, "they are made of all decisions and arrays"},
    {"view.trace", Answer::in_part, "decisions that copy nothing"},
    {"view.worker_changes", Answer::in_part, "what is left of others behind a request's blocks"},
    {"view.worker_tables", Answer::in_part, "what is left of others behind a request's blocks"},
    {"view.writes", Answer::not_known, "writes to state"},
    {"write_chain", Answer::not_known, "writes to state"},
};
constexpr Otherwise kAtCounts[] = {
    {"activities", Answer::not_known, "rows"},
    {"block_facts, contents", Answer::not_known, "writes to state"},
    {"block_facts, label", Answer::not_known, "block events"},
    {"cache_report", Answer::not_known, "lookups"},
    {"cached_prompt", Answer::not_known, "lookups"},
    {"coming_step", Answer::not_known, "rows"},
    {"conv_tokens", Answer::not_known, "writes to state"},
    {"finding_log", Answer::in_part, "the decision behind the first finding of a chain"},
    {"free_queue", Answer::not_known, "block events"},
    {"marks", Answer::in_part, "copies of whole blocks"},
    {"num_hit_tokens", Answer::not_known, "lookups"},
    {"own_count", Answer::not_known, "rows"},
    {"previous_arrays", Answer::not_known, "metadata arrays"},
    {"request_counts", Answer::not_known, "rows"},
    {"unfinished", Answer::not_known, "when requests finish"},
    {"view.digests", Answer::in_part, "they are made of all decisions and arrays"},
    {"view.scheduler_tables", Answer::not_known, "block events"},
    {"view.trace", Answer::in_part, "all but commands, findings and counts"},
    {"view.worker_changes", Answer::not_known, "changes of the worker's tables"},
    {"view.worker_tables", Answer::not_known, "changes of the worker's tables"},
    {"view.writes", Answer::not_known, "writes to state"},
    {"write_chain", Answer::not_known, "writes to state"},
};

// What a live run answers about the steps that it has made so far.
constexpr std::array<std::string_view, 9> kSoFar = {
    "last_known_step", "num_requests", "marks",        "activities", "finding_log",
    "block_faults",    "coming_step",  "cache_report", "end"};

class SameAnswers : public testing::Test {
 protected:
  std::unique_ptr<RecordedRun> record(const RunPlan& plan, RecordLevel level) {
    const SessionPlace place{
        .file = folder_ / "runs.db",
        .name = std::string(record_level_name(level)) + std::to_string(++num_sessions_)};
    EXPECT_TRUE(test::record_run(plan, {.place = place, .level = level}).ok());
    return RecordedRun::open(place).value();
  }

  // Both stand at the same step. Notes each answer that is not the same.
  void compare(LiveRun& live, RecordedRun& recorded, bool so_far) {
    Answers expected = Asked(live).settled();
    Answers found = Asked(recorded).settled();
    for (const auto& of_recorded : found) expected.try_emplace(of_recorded.first);
    for (const auto& [name, text] : expected) {
      if (so_far && std::ranges::find(kSoFar, name) != kSoFar.end()) continue;
      const std::string& other = found[name];
      if (other == text) continue;
      Difference& different = different_[name];
      if (other.find_first_not_of(" \n") != std::string::npos) different.in_part = true;
      if (different.times++ == 0)
        different.first = fmt::format("{} step {}:\nlive:\n{}\nrecorded:\n{}", live.title(),
                                      live.step(), text, other);
    }
  }

  // Forward while the live run is made, then back and forth by jumps.
  void walk(const RunPlan& plan, RecordLevel level) {
    const auto live = LiveRun::create(plan).value();
    const auto recorded = record(plan, level);
    while (live->marks().size() < kMostSteps && live->forward().value()) {
      ASSERT_TRUE(recorded->forward().value());
      compare(*live, *recorded, true);
    }
    ASSERT_TRUE(live->go_to(1'000'000).ok());
    const auto num_steps = static_cast<std::uint64_t>(live->marks().size());
    std::uint64_t random = 1;
    for (int i = 0; i < kJumps; ++i) {
      random = random * 6364136223846793005ULL + 1442695040888963407ULL;
      const std::int64_t step = live->marks()[(random >> 33) % num_steps].step;
      ASSERT_TRUE(live->go_to(step).ok());
      ASSERT_TRUE(recorded->go_to(step).ok());
      compare(*live, *recorded, false);
      ASSERT_EQ(live->back().value(), recorded->back().value());
      compare(*live, *recorded, false);
    }
  }

  // Every other answer is the same; each of these differs somewhere.
  void expect_only(std::span<const Otherwise> otherwise) {
    for (const auto& [name, different] : different_)
      if (std::ranges::find(otherwise, name, &Otherwise::answer) == otherwise.end())
        ADD_FAILURE() << name << " differs " << different.times << " times, first in "
                      << different.first;
    for (const Otherwise& of : otherwise) {
      const Difference& different = different_[std::string(of.answer)];
      EXPECT_GT(different.times, 0) << of.answer << " is the same everywhere";
      EXPECT_EQ(different.in_part, of.how == Answer::in_part) << of.answer << different.first;
    }
  }

  static constexpr std::size_t kMostSteps = 40;
  static constexpr int kJumps = 4;
  test::TemporaryFolder folder_;
  int num_sessions_ = 0;
  struct Difference {
    int times = 0;
    bool in_part = false;  // what is recorded is known
    std::string first;
  };
  std::map<std::string, Difference> different_;
};

// Mode align: a boundary reached by drafts, an asynchronous engine, a preemption, evictions. Mode
// all. The V2 runner. A reset. Hits inside blocks; states stored inside a prefill. A KV connector
// that delays what is freed. Steps with findings.
std::vector<RunPlan> plans() {
  std::vector<RunPlan> plans;
  for (const char* name :
       {"align_boundary_by_accepted_drafts", "async_worked_example", "preemption_and_resume",
        "eviction_under_pressure", "shared_prefix_all", "all_mode_rows_with_drafts", "v2_slots",
        "prefix_cache_reset", "state_inside_a_prefill", "starved_request", "skipped_for_a_step",
        "multi_turn_with_drafts"})
    plans.push_back(test::shipped_scenario(name));
  plans.push_back(test::hits_inside_blocks());
  for (const char* bug :
       {"deferred-frees-preempt-for-ever", "skipped-step-forgets-accepted-count"}) {
    const BugExhibit exhibit = shipped_bug(bug).value();
    plans.push_back(plan_scenario(faulty_scenario(exhibit), bug).value());
    plans.push_back(plan_scenario(healthy_scenario(exhibit), bug).value());
  }
  return plans;
}

TEST_F(SameAnswers, ARecordingAtLevelFullAnswersAsTheRunItself) {
  for (const RunPlan& plan : plans()) walk(plan, RecordLevel::full);
  expect_only({});
}

TEST_F(SameAnswers, ARecordingAtLevelBlocksAnswersTheSameButWhatItDoesNotKeep) {
  for (const RunPlan& plan : plans()) walk(plan, RecordLevel::blocks);
  expect_only(kAtBlocks);
}

TEST_F(SameAnswers, ARecordingAtLevelCountsAnswersTheSameButWhatItDoesNotKeep) {
  for (const RunPlan& plan : plans()) walk(plan, RecordLevel::counts);
  expect_only(kAtCounts);
}

}  // namespace
}  // namespace hybridscope::same_answers_test
