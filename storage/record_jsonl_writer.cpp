#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "sessions/record/speech_json.h"
#include "sessions/text/json_value.h"
#include "storage/record_jsonl.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The names of a row's fields, in the order of its values.
template <class T, class Fields>
Json column_names(Fields fields) {
  return fields::field_names<T>(fields);
}

Json all_columns() {
  Json columns = Json::object();
  const StepRecord sample;
  fields::for_each_single(sample, [&columns](const char* name, const auto& row, auto fields) {
    columns[name] = column_names<std::remove_cvref_t<decltype(row)>>(fields);
  });
  fields::for_each_list(sample, [&columns](const char* name, const auto& list, auto fields) {
    columns[name] = column_names<typename std::remove_cvref_t<decltype(list)>::value_type>(fields);
  });
  return columns;
}

// Appends the fields it visits to a row.
struct Packer {
  Json& row;

  template <class T>
  void operator()(std::string_view, const T& value) {
    if constexpr (std::is_same_v<T, RequestId>) {
      row.push_back(value.value);
    } else if constexpr (std::is_same_v<T, Rule>) {
      row.push_back(rule_info(value).slug);
    } else if constexpr (std::is_same_v<T, std::string_view>) {
      row.push_back(value);
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      // JavaScript's numbers are exact only to 53 bits.
      row.push_back(fmt::format("{:016x}", value));
    } else {
      row.push_back(static_cast<std::int64_t>(value));
    }
  }
  template <class T>
  void operator()(std::string_view, const std::vector<T>& list) {
    if constexpr (std::is_arithmetic_v<T>)
      row.push_back(list);
    else
      row.push_back(rows(
          list, [](const auto& item, auto& visit) { fields::fields_inside(item)(item, visit); }));
  }
  template <class T, class Fields>
  static Json rows(const std::vector<T>& list, Fields fields) {
    Json all = Json::array();
    for (const T& item : list) {
      Json one = Json::array();
      Packer pack{one};
      fields(item, pack);
      all.push_back(std::move(one));
    }
    return all;
  }
};

}  // namespace

std::vector<RequestId> NewRequests::of(const StepRecord& record) {
  std::vector<RequestId> found;
  const auto see = [&](std::string_view, const auto& value) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, RequestId>) {
      if (value.value < 0) return;
      const auto id = static_cast<std::size_t>(value.value);
      if (id >= known_.size()) known_.resize(id + 1, false);
      if (known_[id]) return;
      known_[id] = true;
      found.push_back(value);
    }
  };
  fields::for_each_list(record, [&](const char*, const auto& list, auto fields) {
    for (const auto& item : list) fields(item, see);
  });
  // Requests that say something said it in a prompt first.
  for (const StepWords::Prompt& prompt : record.speech.words.prompts) see("", prompt.request);
  return found;
}

std::string RecordJsonlWriter::header(const SessionHeader& header) const {
  Json line = {{"hybridscope_session", kRecordJsonlVersion},
               {"name", header.name},
               {"kind", session_kind_name(header.kind)},
               {"level", record_level_name(header.level)},
               {"check", check_scope_name(header.check)},
               {"digest_version", header.digest_version},
               {"keeps_count_resets", header.keeps_count_resets},
               {"source", header.source},
               {"model", header.model},
               {"engine", header.engine},
               {"parent_name", header.parent_name},
               {"forked_at", header.forked_at},
               {"plan", header.plan},
               {"columns", all_columns()}};
  if (header.language) line["language"] = speech_info_to_json(*header.language);
  return dump(line);
}

std::string RecordJsonlWriter::step(const StepRecord& record) {
  Json line = {{"step", record.trace.step}, {"names", Json::array()}};
  fields::for_each_single(record, [&](const char* name, const auto& row, auto fields) {
    Json values = Json::array();
    Packer pack{values};
    fields(row, pack);
    line[name] = std::move(values);
  });
  fields::for_each_list(record, [&](const char* name, const auto& list, auto fields) {
    if (list.empty()) return;
    line[name] = Packer::rows(list, fields);
  });
  if (!is_silent(record.speech)) line["speech"] = speech_to_json(record.speech);
  for (const RequestId request : new_requests_.of(record))
    line["names"].push_back(Json::array({request.value, name_(request)}));
  if (line["names"].empty()) line.erase("names");
  return dump(line);
}

std::string RecordJsonlWriter::end(const SessionEnd& end) const {
  Json bookmarks = Json::array();
  for (const auto& [step, note] : end.bookmarks) bookmarks.push_back(Json::array({step, note}));
  return dump({{"end", session_status_name(end.status)},
               {"reason", end.reason},
               {"note", end.note},
               {"bookmarks", std::move(bookmarks)},
               {"num_steps", end.num_steps}});
}

// Checks that the parts of a JSON line are consistent, so that its record can be written and read
// again.
void RecordJsonlReader::check(const StepRecord& record) const {
  const StepTrace& trace = record.trace;
  std::vector<bool> has_row(trace.scheduled.size(), false);
  for (std::size_t i = 0; i < trace.rows.size(); ++i) {
    const auto& row = trace.rows[i];
    if (row.scheduled < 0 || std::cmp_greater_equal(row.scheduled, trace.scheduled.size()) ||
        trace.scheduled_of(row).request != row.request)
      throw JsonFault(fmt::format("/rows/{}/0", i),
                      fmt::format("{} is not the scheduled entry of this request", row.scheduled));
    if (has_row[static_cast<std::size_t>(row.scheduled)])
      throw JsonFault(fmt::format("/rows/{}/0", i),
                      fmt::format("{} has a row before this one", row.scheduled));
    has_row[static_cast<std::size_t>(row.scheduled)] = true;
  }
  for (const CopyLaunch* launch : {&trace.pre_copies, &trace.post_copies})
    for (std::size_t i = 0; i < launch->copies.size(); ++i) {
      const StateCopyTrace& copy = launch->copies[i];
      const std::string place =
          fmt::format("/{}/{}", launch == &trace.pre_copies ? "pre_copies" : "post_copies", i);
      if (copy.decision < 0 || std::cmp_greater_equal(copy.decision, launch->decisions.size()))
        throw JsonFault(place,
                        fmt::format("decision {} of {}", copy.decision, launch->decisions.size()));
      if (copy.group < 0 || copy.group >= limits_.num_groups)
        throw JsonFault(place, fmt::format("group {} of {}", copy.group, limits_.num_groups));
    }
  for (std::size_t i = 0; i < trace.groups.size(); ++i)
    if (std::cmp_not_equal(trace.groups[i].group, i) ||
        std::cmp_greater_equal(i, limits_.num_groups))
      throw JsonFault(fmt::format("/groups/{}/0", i),
                      fmt::format("group {} of {}", trace.groups[i].group, limits_.num_groups));
  if (level_ != RecordLevel::counts && std::cmp_not_equal(trace.groups.size(), limits_.num_groups))
    throw JsonFault("/groups",
                    fmt::format("{} groups, expected {}", trace.groups.size(), limits_.num_groups));
  for (std::size_t i = 0; i < record.arrays.size(); ++i) {
    const ArrayRecord& array = record.arrays[i];
    if (array.rows < 0 || array.cols < 0 ||
        std::cmp_not_equal(array.values.size(),
                           array.present ? std::int64_t{array.rows} * array.cols : 0))
      throw JsonFault(fmt::format("/arrays/{}", i),
                      fmt::format("{} has {} values for {} x {}", array.name, array.values.size(),
                                  array.rows, array.cols));
  }
  check_blocks(record);
}

void RecordJsonlReader::check_blocks(const StepRecord& record) const {
  const auto in_table = [this](RequestId request, std::int32_t group, std::int32_t column) {
    return request.value >= 0 && group >= 0 && group < limits_.num_groups && column >= 0 &&
           column < kMaxTableColumns;
  };
  for (const auto* events : {&record.trace.cache_events, &record.trace.commit_events})
    for (std::size_t i = 0; i < events->size(); ++i) {
      const CacheEvent& event = (*events)[i];
      const bool set = event.kind == CacheEventKind::column_set;
      const bool of_table = set || event.kind == CacheEventKind::table_dropped;
      if (event.block < 0 || event.block >= limits_.num_blocks || event.group < -1 ||
          event.group >= limits_.num_groups ||
          (of_table && !in_table(event.request, event.group, set ? event.column : 0)))
        throw JsonFault(
            fmt::format("/{}/{}",
                        events == &record.trace.cache_events ? "cache_events" : "commit_events", i),
            fmt::format(
                "request {} group {} column {} block {}: the model has {} groups and {} blocks",
                event.request.value, event.group, event.column, event.block, limits_.num_groups,
                limits_.num_blocks));
    }
  for (std::size_t i = 0; i < record.worker_changes.size(); ++i) {
    const WorkerTableChange& change = record.worker_changes[i];
    if (!in_table(change.request, change.group, change.column))
      throw JsonFault(fmt::format("/worker_changes/{}", i),
                      fmt::format("request {} group {} column {}: no place in a block table",
                                  change.request.value, change.group, change.column));
  }
}

}  // namespace hybridscope
