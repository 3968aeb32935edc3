// What the naive worker keeps between steps: tables, exact counts, columns, and the copies that
// move states when columns change.

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/naive_batch.h"
#include "tests/support/naive_lists.h"
#include "tests/support/naive_worker.h"

namespace hybridscope::test {

void NaiveWorker::prepare(const NaiveSchedule& schedule, std::vector<NaiveRow>& rows) {
  if (v2()) assign_slots(schedule, rows);
  for (NaiveRow& row : rows) update_held(row);
  order_rows(rows);
}

// Slots are freed in the order of names, which are numbers as text; new requests get theirs before
// resumed ones (semantics: request-slots).
void NaiveWorker::assign_slots(const NaiveSchedule& schedule, std::vector<NaiveRow>& rows) {
  std::vector<int> leaving = schedule.finished_req_ids;
  leaving.insert(leaving.end(), schedule.preempted_req_ids.begin(),
                 schedule.preempted_req_ids.end());
  std::ranges::sort(leaving, {}, [](int request) { return std::to_string(request); });
  for (const int request : leaving) slots_.free(request);
  for (const bool resumed : {false, true})
    for (NaiveRow& row : rows) {
      if (!row.admitted || ever_admitted_.contains(row.request) != resumed) continue;
      slots_.free(row.request);
      row.slot = slots_.add(row.request);
    }
  for (NaiveRow& row : rows) {
    if (row.admitted) ever_admitted_.insert(row.request);
    row.slot = slots_.slot_of(row.request);
  }
}

// Tables only grow; an admitted request starts over with its complete lists, count 1 and no running
// column from an earlier run (semantics: worker-block-table, input-batch, add-request). It has
// states iff it starts after a hit.
void NaiveWorker::update_held(NaiveRow& row) {
  Held& state = held_[v2() ? *row.slot : row.request];
  if (row.admitted) {
    state = Held{};
    state.block_table = row.new_block_ids;
    state.num_computed_tokens = row.reported_c;
    if (v2() && align() && row.reported_c > 0)
      state.state_column = (row.reported_c - 1) / config_.block_size;
  } else {
    for (std::size_t group = 0; group < state.block_table.size(); ++group) {
      const std::vector<int>& added = row.new_block_ids.at(group);
      state.block_table[group].insert(state.block_table[group].end(), added.begin(), added.end());
    }
  }
  const bool was_absent = !last_rows_.contains(row.request);
  if (!v2() && was_absent && !config_.rules.count_survives_skipped_step)
    state.num_accepted_tokens = 1;
  row.c = state.num_computed_tokens;
}

void NaiveWorker::order_rows(std::vector<NaiveRow>& rows) {
  std::vector<NaiveBatchEntry> entries;
  for (const NaiveRow& row : rows)
    entries.push_back({.request = row.request,
                       .c = row.reported_c,
                       .q = row.q,
                       .decode = row.decode,
                       .admitted = row.admitted,
                       .resumed = row.resumed});
  order = v2() ? naive_v2_order(entries, config_.rules.decode_rows_first) : batch_.update(entries);

  std::map<int, int> last_rows;
  bool behind_prefill = false;
  for (const int index : order) {
    NaiveRow& row = rows.at(static_cast<std::size_t>(index));
    const auto before = last_rows_.find(row.request);
    if (before != last_rows_.end() && !row.admitted) row.previous_row = before->second;
    last_rows.try_emplace(row.request, static_cast<int>(last_rows.size()));
    if (behind_prefill) row.decode = false;
    behind_prefill = v2() && (behind_prefill || !row.decode);
  }
  last_rows_ = last_rows;
}

void NaiveWorker::pre_copies(std::vector<NaiveRow>& rows) {
  std::vector<NaiveCopy> launch;
  for (NaiveRow& row : rows) v2() ? advance_v2(row, launch) : advance_v1(row, launch);
  run_copies(launch, rows);
}

int NaiveWorker::new_column(const NaiveRow& row) const {
  const int c = config_.rules.column_follows_exact_count ? row.c : row.reported_c;
  return ceil_div(c + row.q, config_.block_size) - 1;
}

// Pre-copy of V1 (semantics: preprocess-mamba).
void NaiveWorker::advance_v1(NaiveRow& row, std::vector<NaiveCopy>& launch) {
  Held& state = held(row);
  row.source_column = state.state_column;
  if (!row.source_column && row.c > 0) row.source_column = (row.c - 1) / config_.block_size;
  row.state_column = new_column(row);
  state.state_column = row.state_column;
  if (!row.source_column || row.source_column == row.state_column) return;
  launch.push_back({NaiveCopyKind::pre, row.request, *row.source_column, row.state_column,
                    state.num_accepted_tokens - 1});
  state.num_accepted_tokens = 1;
}

// The advance kernel, then the pre-copy from its results (semantics: preprocess-mamba-align,
// precopy-mamba-align).
void NaiveWorker::advance_v2(NaiveRow& row, std::vector<NaiveCopy>& launch) {
  Held& state = held(row);
  const int src_col = state.state_column.value_or(-1);
  const int src_off = std::max(state.num_accepted_tokens - 1, 0);
  const int state_idx = new_column(row);
  state.state_column = state_idx;
  if (src_col >= 0 && src_col != state_idx) state.num_accepted_tokens = 1;

  row.state_column = state_idx;
  if (src_col < 0) return;
  row.source_column = src_col;
  if (src_col != state_idx)
    launch.push_back({NaiveCopyKind::pre, row.request, src_col, state_idx, src_off});
}

// The exact count grows by the accepted tokens (semantics: accepted-counts-v1, accepted-counts-v2).
void NaiveWorker::count_sampled(const std::vector<NaiveRow>& rows) {
  for (const NaiveRow& row : rows) {
    Held& state = held(row);
    const int num_rejected = row.d + 1 - row.num_accepted_tokens;
    state.num_computed_tokens += row.q - num_rejected;
    state.num_accepted_tokens = row.num_accepted_tokens;
  }
}

// Post-copies (semantics: postprocess-mamba, postprocess-mamba-v2). V1 uses the step's c, q and d;
// V2 the new c and the accepted count.
void NaiveWorker::post_copies(const std::vector<NaiveRow>& rows) {
  std::vector<NaiveCopy> launch;
  for (const NaiveRow& row : rows) {
    Held& state = held(row);
    const int accepted = state.num_accepted_tokens;
    const int running = v2() ? state.num_computed_tokens - accepted + 1 : row.c + row.q - row.d;
    const int computed = v2() ? state.num_computed_tokens : running + accepted - 1;
    const int aligned = computed / config_.block_size * config_.block_size;
    if (aligned < running) continue;
    const int bias = aligned - running;
    const int dst_column = aligned / config_.block_size - 1;
    if (dst_column == row.state_column) state.num_accepted_tokens = 1;
    if (dst_column == row.state_column && bias == 0) continue;
    launch.push_back({NaiveCopyKind::post, row.request, row.state_column, dst_column, bias});
  }
  run_copies(launch, rows);
}

// All reads come before all writes (semantics: collect-mamba-copy-meta).
void NaiveWorker::run_copies(const std::vector<NaiveCopy>& launch,
                             const std::vector<NaiveRow>& rows) {
  std::vector<Write> writes;
  for (const NaiveCopy& copy : launch) {
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const NaiveRow& candidate) {
      return candidate.request == copy.request;
    });
    for (int group = config_.num_attention_groups(); group < config_.num_groups(); ++group) {
      Write write{copy.request, group, copy.dst_column, {}, {}};
      write.temporal = read(block_at(*row, group, copy.src_column + copy.bias)).temporal;
      const std::vector<int> window = read(block_at(*row, group, copy.src_column)).conv;
      for (int i = copy.bias; i < static_cast<int>(window.size()); ++i)
        write.conv[i - copy.bias] = window.at(static_cast<std::size_t>(i));
      writes.push_back(write);
    }
  }
  apply(writes, rows);
  copies.insert(copies.end(), launch.begin(), launch.end());
}

namespace {

constexpr int kHole = -1;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

// Index of the request's entry; -1: none.
int find(const std::vector<NaiveBatchEntry>& scheduled, int request) {
  for (std::size_t i = 0; i < scheduled.size(); ++i)
    if (scheduled[i].request == request) return static_cast<int>(i);
  return -1;
}

}  // namespace

std::vector<int> NaiveBatchV1::update(const std::vector<NaiveBatchEntry>& scheduled) {
  remove_rows(scheduled);
  add_rows(scheduled);
  condense();
  std::vector<int> regions;
  for (const int request : requests_)
    regions.push_back(region(scheduled.at(at(find(scheduled, request)))));
  reorder(regions);
  std::vector<int> order;
  for (const int request : requests_) order.push_back(find(scheduled, request));
  return order;
}

// Removes rows that are not scheduled now, and rows of admitted requests.
void NaiveBatchV1::remove_rows(const std::vector<NaiveBatchEntry>& scheduled) {
  for (int& request : requests_) {
    const int index = find(scheduled, request);
    if (index < 0 || scheduled[at(index)].admitted) request = kHole;
  }
}

// Adds new requests, then the others without a row. Each takes the lowest hole, else a new last
// row.
void NaiveBatchV1::add_rows(const std::vector<NaiveBatchEntry>& scheduled) {
  for (const bool adds_new : {true, false}) {
    for (const NaiveBatchEntry& entry : scheduled) {
      if ((entry.admitted && !entry.resumed) != adds_new) continue;
      if (std::find(requests_.begin(), requests_.end(), entry.request) != requests_.end()) continue;
      const auto hole = std::find(requests_.begin(), requests_.end(), kHole);
      if (hole != requests_.end())
        *hole = entry.request;
      else
        requests_.push_back(entry.request);
    }
  }
}

// Moves the last row into the lowest hole until no hole is left.
void NaiveBatchV1::condense() {
  for (;;) {
    while (!requests_.empty() && requests_.back() == kHole) requests_.pop_back();
    const auto hole = std::find(requests_.begin(), requests_.end(), kHole);
    if (hole == requests_.end()) return;
    *hole = requests_.back();
    requests_.pop_back();
  }
}

// 0 decode, 1 short extend, 2 long extend, 3 prefill.
int NaiveBatchV1::region(const NaiveBatchEntry& entry) const {
  if (entry.decode) return 0;
  if (entry.c == 0) return 3;
  return entry.q <= threshold_ ? 1 : 2;
}

// Moves the rows that are outside their class's region, cycle by cycle; not stable.
void NaiveBatchV1::reorder(const std::vector<int>& regions) {
  std::vector<int> target = regions;
  std::sort(target.begin(), target.end());
  std::vector<int> positions;  // P
  for (int i = 0; i < static_cast<int>(regions.size()); ++i)
    if (regions[at(i)] != target[at(i)]) positions.push_back(i);
  std::vector<int> sources = positions;  // S
  std::stable_sort(sources.begin(), sources.end(),
                   [&](int a, int b) { return regions[at(a)] < regions[at(b)]; });
  std::map<int, int> goes_to;
  for (std::size_t k = 0; k < sources.size(); ++k) goes_to[sources[k]] = positions[k];
  for (const int source : sources) {
    int destination = goes_to[source];
    while (source != destination) {
      std::swap(requests_[at(source)], requests_[at(destination)]);
      const int next = goes_to[destination];
      goes_to[destination] = destination;
      destination = next;
    }
    goes_to[source] = source;
  }
}

NaiveSlotsV2::NaiveSlotsV2(int max_num_reqs) : free_(at(max_num_reqs)) {
  std::iota(free_.begin(), free_.end(), 0);
}

void NaiveSlotsV2::free(int request) {
  const auto found = slot_of_.find(request);
  if (found == slot_of_.end()) return;
  free_.push_back(found->second);
  slot_of_.erase(found);
}

int NaiveSlotsV2::add(int request) {
  if (free_.empty()) throw std::logic_error("naive slots: no free slot");
  const int slot = free_.back();
  free_.pop_back();
  slot_of_[request] = slot;
  return slot;
}

std::vector<int> naive_v2_order(const std::vector<NaiveBatchEntry>& scheduled,
                                bool decode_rows_first) {
  std::vector<int> order(scheduled.size());
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](int index) {
    const NaiveBatchEntry& entry = scheduled[at(index)];
    return std::tuple(decode_rows_first && !entry.decode, entry.q);
  };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return key(a) < key(b); });
  return order;
}

}  // namespace hybridscope::test
