#include "kernels/copy_list.h"

#include <algorithm>
#include <functional>

#include "core/base/result.h"

namespace hybridscope {
namespace {

struct Extent {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
  std::size_t copy = 0;
  bool written = false;
};

// Among the extents that begin before an address, the two that end last and are of different
// copies.
class Furthest {
 public:
  void add(const Extent& extent) {
    if (first_.end == nullptr || extent.end > first_.end) {
      if (first_.end != nullptr && first_.copy != extent.copy) second_ = first_;
      first_ = extent;
    } else if (extent.copy != first_.copy && (second_.end == nullptr || extent.end > second_.end)) {
      second_ = extent;
    }
  }
  bool reaches(const Extent& extent) const {
    const Extent& other = first_.copy == extent.copy ? second_ : first_;
    return other.end != nullptr && other.end > extent.begin;
  }

 private:
  Extent first_;
  Extent second_;
};

}  // namespace

std::vector<ListedCopy> list_copies(std::span<const StateCopy> copies,
                                    std::span<std::byte* const> bases) {
  std::vector<ListedCopy> list;
  for (const StateCopy& copy : copies) {
    if (copy.num_rows <= 0 || copy.row_bytes <= 0) continue;
    HS_EXPECT(copy.state_index >= 0 && static_cast<std::size_t>(copy.state_index) < bases.size());
    HS_EXPECT(copy.num_rows == 1 || copy.row_bytes <= copy.row_stride_bytes);
    std::byte* base = bases[static_cast<std::size_t>(copy.state_index)];
    list.push_back({.from = base + copy.src_byte_offset,
                    .to = base + copy.dst_byte_offset,
                    .num_rows = copy.num_rows,
                    .row_bytes = copy.row_bytes,
                    .row_stride_bytes = copy.row_stride_bytes});
  }
  return list;
}

bool copies_meet(std::span<const ListedCopy> copies) {
  std::vector<Extent> extents;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const std::int64_t span =
        (copies[i].num_rows - 1) * copies[i].row_stride_bytes + copies[i].row_bytes;
    extents.push_back({copies[i].from, copies[i].from + span, i, false});
    extents.push_back({copies[i].to, copies[i].to + span, i, true});
  }
  std::ranges::sort(extents, std::less<>{}, &Extent::begin);
  Furthest any;
  Furthest written;
  for (const Extent& extent : extents) {
    if ((extent.written ? any : written).reaches(extent)) return true;
    any.add(extent);
    if (extent.written) written.add(extent);
  }
  return false;
}

}  // namespace hybridscope
