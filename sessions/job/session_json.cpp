#include "sessions/job/session_json.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "sessions/text/number_words.h"

namespace hybridscope {

nlohmann::ordered_json session_to_json(const SessionInfo& info) {
  nlohmann::ordered_json json = {{"name", info.header.name},
                                 {"kind", session_kind_name(info.header.kind)},
                                 {"status", session_status_name(info.status)},
                                 {"status_reason", info.status_reason},
                                 {"level", record_level_name(info.header.level)},
                                 {"source", info.header.source},
                                 {"model", info.header.model},
                                 {"mamba_cache_mode", info.mamba_cache_mode},
                                 {"engine", info.header.engine},
                                 {"num_speculative_tokens", info.num_speculative_tokens},
                                 {"num_steps", info.num_steps},
                                 {"num_request_steps", info.num_request_steps},
                                 {"num_errors", info.num_errors},
                                 {"num_warnings", info.num_warnings},
                                 {"created_us", info.created_us},
                                 {"program", info.program},
                                 {"note", info.note}};
  if (!info.header.parent_name.empty()) {
    json["parent"] = info.header.parent_name;
    json["forked_at"] = info.header.forked_at;
  }
  return json;
}

std::string cut_mark(const CutText& cut) {
  return fmt::format("... ({} bytes)", grouped_number(cut.bytes));
}

nlohmann::ordered_json query_value_to_json(const QueryValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* cut = std::get_if<CutText>(&value)) return cut->text + cut_mark(*cut);
  if (const auto* blob = std::get_if<BlobLength>(&value)) return {{"blob_bytes", blob->bytes}};
  return nullptr;
}

}  // namespace hybridscope
