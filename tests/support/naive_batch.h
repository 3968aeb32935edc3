// The order of a step's rows in the naive engine: the V1 runner's persistent batch (semantics:
// update-states, input-batch, reorder-batch), and the V2 runner's request slots and sorted batch
// (semantics: request-slots, row-order-v2).
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "tests/support/naive_config.h"

namespace hybridscope::test {

// What the order of rows depends on, in the scheduler's order.
struct NaiveBatchEntry {
  int request = -1;
  int c = 0;  // the reported count
  int q = 0;
  bool decode = false;
  bool admitted = false;
  bool resumed = false;
};

class NaiveBatchV1 {
 public:
  // `threshold`: largest query length of a decode row (semantics: reorder-batch).
  explicit NaiveBatchV1(int threshold) : threshold_(threshold) {}
  // [rows] index into `scheduled`.
  std::vector<int> update(const std::vector<NaiveBatchEntry>& scheduled);

 private:
  void remove_rows(const std::vector<NaiveBatchEntry>& scheduled);
  void add_rows(const std::vector<NaiveBatchEntry>& scheduled);
  void condense();
  void reorder(const std::vector<int>& regions);
  int region(const NaiveBatchEntry& entry) const;

  int threshold_;
  std::vector<int> requests_;  // [rows] -1: a hole; only during update
};

class NaiveSlotsV2 {
 public:
  explicit NaiveSlotsV2(int max_num_reqs);
  // Does nothing when the request has no slot.
  void free(int request);
  // Takes the last free slot.
  int add(int request);
  int slot_of(int request) const { return slot_of_.at(request); }

 private:
  std::vector<int> free_;
  std::map<int, int> slot_of_;
};

// [rows] indexes into `scheduled`, stably sorted by ascending q. `decode_rows_first`: decode rows
// before all others.
std::vector<int> naive_v2_order(const std::vector<NaiveBatchEntry>& scheduled,
                                bool decode_rows_first);

}  // namespace hybridscope::test
