#include "sessions/report/block_ops.h"

#include <nlohmann/json.hpp>

#include "core/base/ids.h"

namespace hybridscope {
namespace {

enum Op : std::int32_t { kSet, kSetAscending, kDrop, kLabel, kUnlabel };

// Collects consecutive columns of one table until flush().
class ColumnRun {
 public:
  explicit ColumnRun(nlohmann::json& ops) : ops_(ops) {}

  void set(std::int32_t request, std::int32_t group, std::int32_t column, std::int32_t block) {
    const bool goes_on = !blocks_.empty() && request == request_ && group == group_ &&
                         column == column_ + static_cast<std::int32_t>(blocks_.size());
    if (!goes_on) {
      flush();
      request_ = request;
      group_ = group;
      column_ = column;
    }
    blocks_.push_back(block);
  }

  void flush() {
    if (blocks_.empty()) return;
    bool ascending = blocks_.size() > 1;
    for (std::size_t i = 1; i < blocks_.size(); ++i)
      ascending = ascending && blocks_[i] == blocks_[i - 1] + 1;
    append({ascending ? kSetAscending : kSet, request_, group_, column_,
            static_cast<std::int32_t>(blocks_.size())});
    if (ascending) blocks_.resize(1);
    append(blocks_);
    blocks_.clear();
  }

  void append(const std::vector<std::int32_t>& values) {
    for (const std::int32_t value : values) ops_.push_back(value);
  }

 private:
  nlohmann::json& ops_;
  std::int32_t request_ = -1;
  std::int32_t group_ = -1;
  std::int32_t column_ = -1;
  std::vector<std::int32_t> blocks_;
};

// One of several registrations was taken back.
bool keeps_a_label(const CacheEvent& event) {
  return event.kind == CacheEventKind::withdrawn && event.num_tokens > 0;
}

void append_event(const CacheEvent& event, ColumnRun& run) {
  const auto op = [&run](const std::vector<std::int32_t>& values) {
    run.flush();
    run.append(values);
  };
  switch (event.kind) {
    case CacheEventKind::column_set:
      run.set(event.request.value, event.group, event.column, event.block);
      break;
    case CacheEventKind::table_dropped:
      op({kDrop, event.request.value, event.group});
      break;
    case CacheEventKind::registered:
      op({kLabel, event.block, event.request.value, event.group, event.num_tokens});
      break;
    case CacheEventKind::evicted:
    case CacheEventKind::withdrawn:
      if (!keeps_a_label(event)) op({kUnlabel, event.block});
      break;
    default:
      break;  // can be derived from the tables
  }
}

void set_column(std::vector<std::int32_t>& table, std::int32_t column, std::int32_t block) {
  const auto index = static_cast<std::size_t>(column);
  if (index >= table.size()) table.resize(index + 1, kNullBlock);
  table[index] = block;
}

}  // namespace

nlohmann::json block_ops(std::span<const CacheEvent> events) {
  nlohmann::json ops = nlohmann::json::array();
  ColumnRun run(ops);
  for (const CacheEvent& event : events) append_event(event, run);
  run.flush();
  return ops;
}

nlohmann::json block_ops(std::span<const WorkerTableChange> changes) {
  nlohmann::json ops = nlohmann::json::array();
  ColumnRun run(ops);
  for (const WorkerTableChange& change : changes)
    run.set(change.request.value, change.group, change.column, change.block);
  run.flush();
  return ops;
}

void BlockState::apply(std::span<const CacheEvent> events) {
  for (const CacheEvent& event : events) {
    const Key key{event.request.value, event.group};
    switch (event.kind) {
      case CacheEventKind::column_set:
        set_column(scheduler_[key], event.column, event.block);
        break;
      case CacheEventKind::table_dropped:
        scheduler_.erase(key);
        worker_.erase(key);
        break;
      case CacheEventKind::registered:
        labels_[event.block] = {key, event.num_tokens};
        break;
      case CacheEventKind::evicted:
      case CacheEventKind::withdrawn:
        if (!keeps_a_label(event)) labels_.erase(event.block);
        break;
      default:
        break;
    }
  }
}

void BlockState::apply(std::span<const WorkerTableChange> changes) {
  for (const WorkerTableChange& change : changes)
    set_column(worker_[{change.request.value, change.group}], change.column, change.block);
}

std::vector<RequestId> BlockState::requests() const {
  std::vector<RequestId> named;
  for (const Tables* tables : {&scheduler_, &worker_})
    for (const auto& [key, blocks] : *tables) named.push_back({key.request});
  for (const auto& [block, label] : labels_)
    if (label.key.request >= 0) named.push_back({label.key.request});
  return named;
}

nlohmann::json BlockState::table_ops(const Tables& tables) {
  nlohmann::json ops = nlohmann::json::array();
  ColumnRun run(ops);
  for (const auto& [key, blocks] : tables)
    for (std::size_t column = 0; column < blocks.size(); ++column)
      run.set(key.request, key.group, static_cast<std::int32_t>(column), blocks[column]);
  run.flush();
  return ops;
}

nlohmann::json BlockState::scheduler_ops() const {
  nlohmann::json ops = table_ops(scheduler_);
  for (const auto& [block, label] : labels_)
    for (const std::int32_t value : {static_cast<std::int32_t>(kLabel), block, label.key.request,
                                     label.key.group, label.num_tokens})
      ops.push_back(value);
  return ops;
}

nlohmann::json BlockState::worker_ops() const { return table_ops(worker_); }

}  // namespace hybridscope
