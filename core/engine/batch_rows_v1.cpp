#include "core/engine/batch_rows_v1.h"

#include <algorithm>
#include <array>

#include "core/base/result.h"

namespace hybridscope {

BatchRowsV1::BatchRowsV1(std::int32_t max_num_reqs, std::span<const std::int32_t> columns) {
  rows_.reserve(static_cast<std::size_t>(max_num_reqs));
  vacated_.resize(static_cast<std::size_t>(max_num_reqs));
  for (const std::int32_t width : columns) tables_.emplace_back(max_num_reqs, width);
}

std::int32_t BatchRowsV1::row_of(RequestId request) const {
  const auto index = static_cast<std::size_t>(request.value);
  return index < row_of_.size() ? row_of_[index] : -1;
}

void BatchRowsV1::set_row_of(RequestId request, std::int32_t row) {
  const auto index = static_cast<std::size_t>(request.value);
  if (index >= row_of_.size()) row_of_.resize(index + 1, -1);
  row_of_[index] = row;
}

void BatchRowsV1::start_step() {
  for (std::size_t i = 0; i < rows_.size(); ++i)
    rows_[i].previous_row = static_cast<std::int32_t>(i);
}

void BatchRowsV1::remove(RequestId request) {
  const std::int32_t row = row_of(request);
  HS_EXPECT(row >= 0);
  rows_[static_cast<std::size_t>(row)].request = {};
  rows_[static_cast<std::size_t>(row)].previous_row = -1;
  for (BlockTable& table : tables_) table.clear_row(row);
  set_row_of(request, -1);
  holes_.insert(std::lower_bound(holes_.begin(), holes_.end(), row), row);
}

std::int32_t BatchRowsV1::add(RequestId request) {
  HS_EXPECT(row_of(request) < 0);
  std::int32_t row = static_cast<std::int32_t>(rows_.size());
  if (holes_.empty()) {
    rows_.push_back({});
  } else {
    row = holes_.front();
    holes_.erase(holes_.begin());
  }
  rows_[static_cast<std::size_t>(row)] = {
      .request = request, .accepted = {1, request}, .previous_row = -1};
  set_row_of(request, row);
  return row;
}

void BatchRowsV1::drop_last_row() {
  vacated_[rows_.size() - 1] = rows_.back();
  rows_.pop_back();
}

const BatchRow& BatchRowsV1::left_at(std::int32_t row) const {
  const auto index = static_cast<std::size_t>(row);
  return index < rows_.size() ? rows_[index] : vacated_[index];
}

void BatchRowsV1::condense() {
  while (!holes_.empty()) {
    const auto last = static_cast<std::int32_t>(rows_.size()) - 1;
    if (holes_.back() == last) {
      holes_.pop_back();
      drop_last_row();
      continue;
    }
    const std::int32_t hole = holes_.front();
    holes_.erase(holes_.begin());
    rows_[static_cast<std::size_t>(hole)] = rows_.back();
    for (BlockTable& table : tables_) table.move_row(last, hole);
    set_row_of(rows_.back().request, hole);
    drop_last_row();
  }
}

void BatchRowsV1::swap_rows(std::int32_t a, std::int32_t b) {
  std::swap(rows_[static_cast<std::size_t>(a)], rows_[static_cast<std::size_t>(b)]);
  set_row_of(rows_[static_cast<std::size_t>(a)].request, a);
  set_row_of(rows_[static_cast<std::size_t>(b)].request, b);
  for (BlockTable& table : tables_) table.swap_row(a, b);
}

void BatchRowsV1::reorder(std::span<const RowRegion> region) {
  HS_EXPECT(holes_.empty() && region.size() == rows_.size());
  std::array<std::size_t, 4> count{};
  for (const RowRegion r : region) ++count[static_cast<std::size_t>(r)];

  // Places whose row is in the wrong region, ascending, and the same places sorted by region.
  std::vector<std::int32_t> places;
  std::size_t end = 0;
  for (std::size_t r = 0, place = 0; r < count.size(); ++r)
    for (end += count[r]; place < end; ++place)
      if (static_cast<std::size_t>(region[place]) != r)
        places.push_back(static_cast<std::int32_t>(place));
  if (places.empty()) return;
  std::vector<std::int32_t> sources = places;
  std::stable_sort(sources.begin(), sources.end(), [&](std::int32_t a, std::int32_t b) {
    return region[static_cast<std::size_t>(a)] < region[static_cast<std::size_t>(b)];
  });

  std::vector<std::int32_t> destination(rows_.size(), -1);
  for (std::size_t k = 0; k < places.size(); ++k)
    destination[static_cast<std::size_t>(sources[k])] = places[k];
  for (const std::int32_t source : sources) {
    std::int32_t target = destination[static_cast<std::size_t>(source)];
    while (target != source) {
      swap_rows(source, target);
      const std::int32_t next = destination[static_cast<std::size_t>(target)];
      destination[static_cast<std::size_t>(target)] = target;
      target = next;
    }
  }
}

}  // namespace hybridscope
