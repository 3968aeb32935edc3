#include "sessions/record/step_digests.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <type_traits>

#include "sessions/record/step_fields.h"
#include "sessions/text/name_hash.h"

namespace hybridscope {

std::string_view step_section_name(StepSection section) {
  static constexpr std::array<std::string_view, kNumStepSections> kNames = {
      "commands", "schedule", "blocks",   "rows",    "layout",
      "graph",    "copies",   "metadata", "commits", "findings"};
  return kNames[static_cast<std::size_t>(section)];
}

StepDigester::StepDigester(std::function<std::string(RequestId)> name) : name_(std::move(name)) {}

std::uint64_t StepDigester::hash_of(RequestId request) {
  if (request.value < 0) return 1;
  const auto id = static_cast<std::size_t>(request.value);
  if (id >= hashes_.size()) hashes_.resize(id + 1, 0);
  if (hashes_[id] == 0) hashes_[id] = hash_name(NameKind::request, name_(request));
  return hashes_[id];
}

template <class T>
std::uint64_t StepDigester::hash_value(const T& value) {
  if constexpr (std::is_same_v<T, RequestId>)
    return hash_of(value);
  else if constexpr (std::is_same_v<T, std::string_view>)
    return hash_name(NameKind::text, value);
  else
    return static_cast<std::uint64_t>(value);
}

// Hashes the fields it visits, in order. They are collected first: one hash over many words costs a
// third of folding word by word.
class StepDigester::Hasher {
 public:
  explicit Hasher(StepDigester& digester) : digester_(digester) {}

  template <class T>
  void operator()(std::string_view, const T& value) {
    add(digester_.hash_value(value));
  }
  // Hashes an array: None, or dtype, shape and values.
  template <class T>
  void operator()(std::int32_t, std::string_view, const TensorView<T>& view, ArrayDtype dtype) {
    add(static_cast<std::uint64_t>(dtype) << 32 | static_cast<std::uint32_t>(view.dims) << 1 |
        (view.present ? 1U : 0U));
    if (!view.present) return;
    add(static_cast<std::uint64_t>(static_cast<std::uint32_t>(view.rows)) << 32 |
        static_cast<std::uint32_t>(view.cols));
    add_values(view.data, static_cast<std::size_t>(view.size()));
  }
  void operator()(std::int32_t, std::string_view, std::int32_t value, ArrayDtype dtype) {
    add(static_cast<std::uint64_t>(dtype) << 32 | static_cast<std::uint32_t>(value));
  }

  std::uint64_t digest() {
    fold();
    return state_;
  }

  // The sum of the digests of `list`, which does not depend on its order. `visit` shows an
  // element's fields.
  template <class List, class Visit>
  static std::uint64_t sum(StepDigester& digester, const List& list, const Visit& visit) {
    std::uint64_t sum = 0;
    for (const auto& element : list) {
      Hasher one{digester};
      visit(element, one);
      sum += one.digest();
    }
    return sum;
  }

 private:
  void add(std::uint64_t word) {
    if (num_words_ == kMaxWords) fold();
    words_[num_words_++] = word;
  }
  void fold() {
    if (num_words_ == 0) return;
    state_ = XXH3_64bits_withSeed(words_, num_words_ * sizeof(words_[0]), state_);
    num_words_ = 0;
  }

  // Short arrays are added to the words.
  template <class T>
  void add_values(const T* values, std::size_t count) {
    if (count <= kFewValues) {
      for (std::size_t i = 0; i < count; ++i) add(static_cast<std::uint64_t>(values[i]));
      return;
    }
    fold();
    state_ = XXH3_64bits_withSeed(values, count * sizeof(T), state_);
  }

  static constexpr std::size_t kMaxWords = 32;
  static constexpr std::size_t kFewValues = 8;
  StepDigester& digester_;
  std::uint64_t state_ = 0x646967657374ULL;
  std::size_t num_words_ = 0;
  std::uint64_t words_[kMaxWords];  // the first num_words_
};

void StepDigester::digest_schedule(const StepTrace& trace, StepDigests& digests) {
  Hasher commands{*this};
  for (const CommandTrace& command : trace.commands) for_each_command_field(command, commands);
  digests[StepSection::commands] = commands.digest();

  Hasher step{*this};
  step("", trace.committed_step == 0 ? -1 : trace.step - trace.committed_step);
  step("", trace.token_budget);
  step("", trace.budget_overridden);
  step("", trace.num_scheduled_tokens);
  step("", trace.num_running);
  step("", trace.num_waiting);
  step("", trace.num_free_blocks);
  step("", trace.num_unfinished);
  for (const RequestId request : trace.preempted) step("", request);
  std::uint64_t sum = step.digest();
  sum += Hasher::sum(*this, trace.scheduled, for_each_scheduled_field);
  sum += Hasher::sum(*this, trace.skipped, for_each_skipped_field);
  sum += Hasher::sum(*this, trace.lookups, [](const AdmissionLookup& lookup, Hasher& one) {
    for_each_lookup_field(lookup, one);
    for (const GroupLookup& group : lookup.explanation.groups)
      for_each_group_lookup_field(group, one);
  });
  digests[StepSection::schedule] = sum;
}

void StepDigester::digest_rows(const StepTrace& trace, StepDigests& digests) {
  std::uint64_t rows = 0;
  std::uint64_t layout = 0;
  for (std::size_t i = 0; i < trace.rows.size(); ++i) {
    const RowTrace& row = trace.rows[i];
    Hasher values{*this};
    values("request", row.request);
    for_each_row_field(row, values);
    rows += values.digest();
    Hasher place{*this};
    place("request", row.request);
    place("row", i);
    for_each_layout_field(row, place);
    layout += place.digest();
  }
  digests[StepSection::rows] = rows;
  digests[StepSection::layout] = layout;
  Hasher graph{*this};
  for_each_graph_field(trace, graph);
  digests[StepSection::graph] = graph.digest();
}

void StepDigester::digest_blocks(const StepTrace& trace, StepDigests& digests) {
  Hasher blocks{*this};
  for (const auto* events : {&trace.cache_events, &trace.commit_events}) {
    for (const CacheEvent& event : *events) for_each_cache_event_field(event, blocks);
    blocks("", events->size());
  }
  for (const CopyLaunch* launch : {&trace.pre_copies, &trace.post_copies}) {
    blocks("", Hasher::sum(*this, launch->copies, [&](const StateCopyTrace& copy, Hasher& one) {
             one("", launch->decisions[static_cast<std::size_t>(copy.decision)].request);
             one("", copy.group);
             one("", copy.conv_src_block);
             one("", copy.temporal_src_block);
             one("", copy.dst_block);
           }));
  }
  digests[StepSection::blocks] = blocks.digest();
}

void StepDigester::digest_copies(const StepTrace& trace, StepDigests& digests) {
  Hasher copies{*this};
  for (const CopyLaunch* launch : {&trace.pre_copies, &trace.post_copies}) {
    std::uint64_t sum = Hasher::sum(*this, launch->decisions, for_each_decision_field);
    sum += Hasher::sum(*this, launch->copies, [&](const StateCopyTrace& copy, Hasher& one) {
      one("", launch->decisions[static_cast<std::size_t>(copy.decision)].request);
      one("", copy.group);
      one("", copy.accept_token_bias);
    });
    copies("", sum);
    copies("", launch->copies.size());
  }
  digests[StepSection::copies] = copies.digest();
}

void StepDigester::digest_metadata(const StepTrace& trace, StepDigests& digests) {
  Hasher metadata{*this};
  for (const GroupTrace& group : trace.groups) {
    for_each_group_field(group, metadata);
    // Which arrays the group has.
    metadata("", (group.metadata ? group.metadata->index() + 1 : 0) << 2 |
                     (group.temporal_source_column.present ? 2U : 0U) |
                     (group.conv_source_column.present ? 1U : 0U));
  }
  for_each_array(trace, metadata);
  digests[StepSection::metadata] = metadata.digest();
}

void StepDigester::digest_outcome(const StepTrace& trace, std::span<const Finding> findings,
                                  StepDigests& digests) {
  digests[StepSection::commits] = Hasher::sum(*this, trace.committed, for_each_commit_field);
  Hasher found{*this};
  for (const Finding& finding : findings) for_each_finding_field(finding, found);
  digests[StepSection::findings] = found.digest();
}

StepDigests StepDigester::digest(const StepTrace& trace, std::span<const Finding> findings) {
  StepDigests digests;
  digest_schedule(trace, digests);
  digest_blocks(trace, digests);
  digest_rows(trace, digests);
  digest_copies(trace, digests);
  digest_metadata(trace, digests);
  digest_outcome(trace, findings, digests);
  return digests;
}

}  // namespace hybridscope
