#include "tests/support/naive_batch.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <tuple>

namespace hybridscope::test {
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
