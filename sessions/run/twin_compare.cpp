#include "sessions/run/twin_compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

namespace hybridscope {
namespace {

// One reason found in the data, as a clause.
struct Clause {
  TwinReason reason = TwinReason::never_differ;
  std::string words;
};

std::vector<std::int64_t> steps_of(const TwinRun& base, const TwinRun& twin) {
  std::set<std::int64_t> steps;
  for (const TwinRun* run : {&base, &twin})
    for (const TwinFrame& frame : run->frames) steps.insert(frame.step);
  return {steps.begin(), steps.end()};
}

std::vector<std::string> requests_of(const TwinFrame* base, const TwinFrame* twin) {
  std::vector<std::string> requests;
  for (const TwinFrame* frame : {base, twin}) {
    if (frame == nullptr) continue;
    for (const TwinRow& row : frame->rows)
      if (std::ranges::find(requests, row.request) == requests.end())
        requests.push_back(row.request);
  }
  return requests;
}

// The requests in `list` of frames before `end`, with the first such frame.
std::map<std::string, std::int64_t> listed_before(const TwinRun& run, std::int64_t end,
                                                  std::vector<std::string> TwinFrame::*const list) {
  std::map<std::string, std::int64_t> listed;
  for (const TwinFrame& frame : run.frames)
    if (frame.step < end)
      for (const std::string& request : frame.*list) listed.emplace(request, frame.step);
  return listed;
}

std::string frame_of(const std::map<std::string, std::int64_t>& listed,
                     const std::string& request) {
  const auto found = listed.find(request);
  return found == listed.end() ? std::string("not yet") : fmt::format("in frame {}", found->second);
}

// Searches for the reasons of a difference in one frame.
class ReasonSearch {
 public:
  ReasonSearch(const TwinRun& base, const TwinRun& twin, const TwinNames& names, std::int64_t step)
      : base_(base), twin_(twin), names_(names), step_(step) {}

  std::vector<Clause> clauses(const std::string& request) const {
    std::vector<Clause> found;
    const auto add = [&](std::optional<Clause> clause) {
      if (clause) found.push_back(std::move(*clause));
    };
    add(preemption());
    add(drafts_in_flight(request));
    add(ended());
    if (found.empty()) add(freed());
    return found;
  }

 private:
  std::optional<Clause> preemption() const {
    const auto base = listed_before(base_, step_ + 1, &TwinFrame::preempted);
    const auto twin = listed_before(twin_, step_ + 1, &TwinFrame::preempted);
    for (const auto* listed : {&base, &twin})
      for (const auto& [request, step] : *listed)
        if (frame_of(base, request) != frame_of(twin, request))
          return Clause{TwinReason::preemption_timing,
                        fmt::format("{} was preempted {} in {} and {} in {}", request,
                                    frame_of(base, request), names_.base, frame_of(twin, request),
                                    names_.twin)};
    return std::nullopt;
  }

  std::optional<Clause> drafts_in_flight(const std::string& request) const {
    const TwinRow* base = find_row(find_frame(base_, step_), request);
    const TwinRow* twin = find_row(find_frame(twin_, step_), request);
    if (base == nullptr || twin == nullptr ||
        base->reported_num_computed_tokens == twin->reported_num_computed_tokens)
      return std::nullopt;
    const bool base_counts =
        base->reported_num_computed_tokens > twin->reported_num_computed_tokens;
    const TwinRow& more = base_counts ? *base : *twin;
    const TwinRow& less = base_counts ? *twin : *base;
    const std::int32_t counted_on = more.reported_num_computed_tokens - more.num_computed_tokens;
    if (counted_on <= 0) return std::nullopt;
    return Clause{
        TwinReason::drafts_in_flight,
        fmt::format(
            "{} scheduled {} with c = {}, counting on all drafts of the frame in flight, {} "
            "of which {} rejected (exact c {}), so that its tokens may end at {}; {} knew c = {}, "
            "so that they may end at {}",
            base_counts ? names_.base : names_.twin, request, more.reported_num_computed_tokens,
            counted_on, counted_on == 1 ? "was" : "were", more.num_computed_tokens,
            more.reported_num_computed_tokens + more.num_scheduled_tokens,
            base_counts ? names_.twin : names_.base, less.reported_num_computed_tokens,
            less.reported_num_computed_tokens + less.num_scheduled_tokens)};
  }

  std::optional<Clause> ended() const {
    const auto base = listed_before(base_, step_, &TwinFrame::finished);
    const auto twin = listed_before(twin_, step_, &TwinFrame::finished);
    for (const bool ended_in_base : {true, false}) {
      const auto& ended = ended_in_base ? base : twin;
      const auto& other = ended_in_base ? twin : base;
      for (const auto& [request, step] : ended)
        if (!other.contains(request))
          return Clause{TwinReason::ended_a_frame_later,
                        fmt::format("{} had ended when {} scheduled this frame and its blocks {} "
                                    "were free, but {} still held them, because the frame that "
                                    "ends it was in flight",
                                    request, ended_in_base ? names_.base : names_.twin,
                                    freed_at_commit(ended_in_base ? base_ : twin_, step),
                                    ended_in_base ? names_.twin : names_.base)};
    }
    return std::nullopt;
  }

  static std::string freed_at_commit(const TwinRun& run, std::int64_t step) {
    std::vector<std::int32_t> blocks;
    for (const FreedBlock& freed : run.freed)
      if (freed.at_commit && freed.step == step) blocks.push_back(freed.block);
    std::ranges::sort(blocks);
    return fmt::format("{}", fmt::join(blocks, ", "));
  }

  // Blocks come from the front of the free queue, so compares the order in which they were freed.
  std::optional<Clause> freed() const {
    const auto until = [&](const TwinRun& run) {
      std::vector<FreedBlock> list;
      for (const FreedBlock& freed : run.freed)
        if (freed.step < step_ || (freed.step == step_ && !freed.at_commit)) list.push_back(freed);
      return list;
    };
    const std::vector<FreedBlock> base = until(base_);
    const std::vector<FreedBlock> twin = until(twin_);
    std::size_t same = 0;
    while (same < std::min(base.size(), twin.size()) && base[same].block == twin[same].block)
      ++same;
    const bool from_base = same < base.size();
    if (!from_base && same >= twin.size()) return std::nullopt;
    const FreedBlock& freed = from_base ? base[same] : twin[same];
    const std::vector<FreedBlock>& other = from_base ? twin : base;
    const auto in_other = std::find_if(
        other.begin() + static_cast<std::ptrdiff_t>(std::min(same, other.size())), other.end(),
        [&](const FreedBlock& block) { return block.block == freed.block; });
    return Clause{
        TwinReason::freed_in_other_order,
        fmt::format("the free queues differ: block {} was freed in step {} in {} and {} in {}",
                    freed.block, freed.step, from_base ? names_.base : names_.twin,
                    in_other == other.end() ? std::string("not yet")
                                            : fmt::format("in step {}", in_other->step),
                    from_base ? names_.twin : names_.base)};
  }

  const TwinRun& base_;
  const TwinRun& twin_;
  const TwinNames& names_;
  std::int64_t step_;
};

std::string ids_or_nothing(const TwinRow* row) {
  return row == nullptr ? std::string("nothing") : block_ids_words(row->new_block_ids);
}

std::vector<const TwinRow*> batch_of(const TwinFrame* frame) {
  std::vector<const TwinRow*> rows;
  if (frame != nullptr)
    for (const TwinRow& row : frame->rows) rows.push_back(&row);
  std::ranges::sort(rows, {}, &TwinRow::row);
  return rows;
}

bool same_order(const TwinFrame* base, const TwinFrame* twin) {
  return std::ranges::equal(batch_of(base), batch_of(twin), {}, &TwinRow::request,
                            &TwinRow::request);
}

std::string batch_words(const TwinFrame* frame) {
  std::vector<std::string> words;
  for (const TwinRow* row : batch_of(frame))
    words.push_back(row->slot < 0 ? row->request
                                  : fmt::format("{} in slot {}", row->request, row->slot));
  return fmt::format("[{}]", fmt::join(words, ", "));
}

void find_order_difference(const TwinRun& base, const TwinRun& twin, const TwinNames& names,
                           TwinComparison& comparison) {
  comparison.sentence =
      "Block ids never differ: every frame gives the same blocks to the same "
      "requests, in the same rows.";
  for (const std::int64_t step : steps_of(base, twin)) {
    const TwinFrame* base_frame = find_frame(base, step);
    const TwinFrame* twin_frame = find_frame(twin, step);
    if (same_order(base_frame, twin_frame)) continue;
    comparison.reason = TwinReason::order_only;
    comparison.sentence = fmt::format(
        "Block ids never differ, only the batch does: in frame {} {} has the rows {} and {} has "
        "{}.",
        step, names.base, batch_words(base_frame), names.twin, batch_words(twin_frame));
    return;
  }
}

void find_block_difference(const TwinRun& base, const TwinRun& twin, const TwinNames& names,
                           TwinComparison& comparison) {
  for (const std::int64_t step : steps_of(base, twin)) {
    const TwinFrame* base_frame = find_frame(base, step);
    const TwinFrame* twin_frame = find_frame(twin, step);
    for (const std::string& request : requests_of(base_frame, twin_frame)) {
      const TwinRow* base_row = find_row(base_frame, request);
      const TwinRow* twin_row = find_row(twin_frame, request);
      if (!block_ids_differ(base_row, twin_row)) continue;
      const std::vector<Clause> clauses = ReasonSearch(base, twin, names, step).clauses(request);
      comparison.first_step = step;
      comparison.first_request = request;
      comparison.reason =
          clauses.empty() ? TwinReason::freed_in_other_order : clauses.front().reason;
      comparison.sentence =
          fmt::format("In frame {} {} gets {} in {} and {} in {}", step, request,
                      ids_or_nothing(base_row), names.base, ids_or_nothing(twin_row), names.twin);
      for (std::size_t i = 0; i < clauses.size(); ++i)
        comparison.sentence += (i == 0 ? ": " : "; besides, ") + clauses[i].words;
      comparison.sentence += ".";
      return;
    }
  }
  find_order_difference(base, twin, names, comparison);
}

void compare_outputs(const TwinRun& base, const TwinRun& twin, const TwinNames& names,
                     TwinComparison& comparison) {
  for (const auto& [request, tokens] : base.outputs)
    comparison.num_outputs += static_cast<std::int64_t>(tokens.size());
  if (base.outputs == twin.outputs) return;
  const auto count = [](const TwinRun& run, const std::string& request) {
    const auto found = run.outputs.find(request);
    return found == run.outputs.end() ? std::size_t{0} : found->second.size();
  };
  for (const TwinRun* run : {&base, &twin})
    for (const auto& [request, tokens] : run->outputs) {
      const auto other = (run == &base ? twin : base).outputs.find(request);
      if (other != (run == &base ? twin : base).outputs.end() && other->second == tokens) continue;
      comparison.output_difference =
          fmt::format("{} has {} output tokens in {} and {}{} in {}", request, count(base, request),
                      names.base, count(base, request) == count(twin, request) ? "other " : "",
                      count(twin, request), names.twin);
      return;
    }
}

bool was_preempted(const TwinRun& run, const std::string& request) {
  return std::ranges::any_of(run.frames, [&](const TwinFrame& frame) {
    return std::ranges::find(frame.preempted, request) != frame.preempted.end();
  });
}

// Compares positions that both runs verify with equally many drafts. A scripted count belongs to a
// frame, not to a position.
void compare_counts(const TwinRun& base, const TwinRun& twin, const TwinNames& names,
                    TwinComparison& comparison) {
  for (const auto& [place, count] : base.accepted) {
    const auto found = twin.accepted.find(place);
    if (found == twin.accepted.end()) continue;
    const TwinAcceptance& other = found->second;
    if (count.num_draft_tokens != other.num_draft_tokens) continue;
    if ((count.scripted || other.scripted) && count.step != other.step) continue;
    if (was_preempted(base, place.first) || was_preempted(twin, place.first)) continue;
    ++comparison.num_counts_compared;
    if (count.num_accepted_tokens == other.num_accepted_tokens ||
        !comparison.count_difference.empty())
      continue;
    comparison.count_difference =
        fmt::format("behind {} tokens of {} {} accepts {} and {} {}", place.second, place.first,
                    names.base, count.num_accepted_tokens, names.twin, other.num_accepted_tokens);
  }
}

}  // namespace

TwinComparison compare_twins(const TwinRun& base, const TwinRun& twin, const TwinNames& names) {
  TwinComparison comparison;
  find_block_difference(base, twin, names, comparison);
  compare_outputs(base, twin, names, comparison);
  compare_counts(base, twin, names, comparison);
  return comparison;
}

}  // namespace hybridscope
