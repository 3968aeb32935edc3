#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "sessions/record/speech_json.h"
#include "storage/record_jsonl.h"
#include "storage/record_lists.h"

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

}  // namespace

// Appends the fields it visits to a row.
struct RecordJsonlWriter::Packer {
  RecordJsonlWriter& writer;
  Json& row;

  template <class T>
  void operator()(std::string_view, const T& value) {
    if constexpr (std::is_same_v<T, RequestId>) {
      writer.see(value);
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
  Json rows(const std::vector<T>& list, Fields fields) {
    Json all = Json::array();
    for (const T& item : list) {
      Json one = Json::array();
      Packer pack{writer, one};
      fields(item, pack);
      all.push_back(std::move(one));
    }
    return all;
  }
};

void RecordJsonlWriter::see(RequestId request) {
  if (request.value < 0) return;
  const auto id = static_cast<std::size_t>(request.value);
  if (id >= known_.size()) known_.resize(id + 1, false);
  if (known_[id]) return;
  known_[id] = true;
  new_names_.push_back(request);
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
    Packer pack{*this, values};
    fields(row, pack);
    line[name] = std::move(values);
  });
  fields::for_each_list(record, [&](const char* name, const auto& list, auto fields) {
    if (list.empty()) return;
    Json none;
    line[name] = Packer{*this, none}.rows(list, fields);
  });
  if (!is_silent(record.speech)) {
    for (const StepWords::Prompt& prompt : record.speech.words.prompts) see(prompt.request);
    line["speech"] = speech_to_json(record.speech);
  }
  for (const RequestId request : new_names_)
    line["names"].push_back(Json::array({request.value, name_(request)}));
  if (new_names_.empty()) line.erase("names");
  new_names_.clear();
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

}  // namespace hybridscope
