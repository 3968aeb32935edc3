#include "sessions/shrink/traced_requests.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;
using Dropped = std::function<bool(const std::string&)>;

// The member, or null; `Object` is Json or const Json.
template <class Object>
Object* member(Object& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

bool is_dropped(const Json& name, const Dropped& dropped) {
  return name.is_string() && dropped(name.get_ref<const std::string&>());
}

// Removes the elements of an array for which `drop` is true.
template <class Drop>
bool drop_elements(Json* array, const Drop& drop) {
  if (array == nullptr || !array->is_array()) return false;
  Json kept = Json::array();
  for (Json& element : *array)
    if (!drop(element)) kept.push_back(std::move(element));
  const bool changed = kept.size() != array->size();
  *array = std::move(kept);
  return changed;
}

bool drop_names(Json* names, const Dropped& dropped) {
  return drop_elements(names, [&](const Json& name) { return is_dropped(name, dropped); });
}

// Removes objects by their member req_id.
bool drop_objects(Json* objects, const Dropped& dropped) {
  return drop_elements(objects, [&](const Json& object) {
    const Json* name = member(object, "req_id");
    return name != nullptr && is_dropped(*name, dropped);
  });
}

bool drop_keys(Json* map, const Dropped& dropped) {
  if (map == nullptr || !map->is_object()) return false;
  Json kept = Json::object();
  for (auto& [key, value] : map->items())
    if (!dropped(key)) kept[key] = value;
  const bool changed = kept.size() != map->size();
  *map = std::move(kept);
  return changed;
}

// Removes entries of req_ids and of the lists parallel to it; `apart` names a list that is not
// parallel.
bool drop_parallel(Json* lists, const Dropped& dropped, std::string_view apart = {}) {
  if (lists == nullptr) return false;
  const Json* names = member(*lists, "req_ids");
  if (names == nullptr || !names->is_array()) return false;
  const Json req_ids = *names;
  bool changed = false;
  for (auto& [key, list] : lists->items()) {
    if (key == apart || !list.is_array() || list.size() != req_ids.size()) continue;
    std::size_t i = 0;
    changed =
        drop_elements(&list, [&](const Json&) { return is_dropped(req_ids[i++], dropped); }) ||
        changed;
  }
  return changed;
}

void add_name(const Json& name, std::vector<std::string>& names) {
  if (!name.is_string()) return;
  const auto& text = name.get_ref<const std::string&>();
  if (std::ranges::find(names, text) == names.end()) names.push_back(text);
}

void add_names(const Json* list, std::vector<std::string>& names) {
  if (list == nullptr || !list->is_array()) return;
  for (const Json& name : *list) add_name(name, names);
}

}  // namespace

std::vector<std::string> traced_requests(const Json& step) {
  std::vector<std::string> names;
  const Json* output = member(step, "scheduler_output");
  if (output == nullptr) return names;
  if (const Json* admitted = member(*output, "scheduled_new_reqs"))
    for (const Json& request : *admitted)
      if (const Json* name = member(request, "req_id")) add_name(*name, names);
  if (const Json* cached = member(*output, "scheduled_cached_reqs"))
    add_names(member(*cached, "req_ids"), names);
  add_names(member(*output, "finished_req_ids"), names);
  add_names(member(*output, "preempted_req_ids"), names);
  return names;
}

bool schedules_somebody(const Json& step) {
  const Json* output = member(step, "scheduler_output");
  const Json* counts = output == nullptr ? nullptr : member(*output, "num_scheduled_tokens");
  return counts != nullptr && !counts->empty();
}

bool drop_requests(Json& step, const Dropped& dropped, TracedBatch batch) {
  bool changed = false;
  if (Json* output = member(step, "scheduler_output")) {
    changed |= drop_objects(member(*output, "scheduled_new_reqs"), dropped);
    if (Json* cached = member(*output, "scheduled_cached_reqs")) {
      changed |= drop_names(member(*cached, "resumed_req_ids"), dropped);
      changed |= drop_parallel(cached, dropped, "resumed_req_ids");
    }
    changed |= drop_keys(member(*output, "num_scheduled_tokens"), dropped);
    changed |= drop_keys(member(*output, "scheduled_spec_decode_tokens"), dropped);
    changed |= drop_names(member(*output, "finished_req_ids"), dropped);
    changed |= drop_names(member(*output, "preempted_req_ids"), dropped);
    changed |= drop_objects(member(*output, "kv_cache_block_copies"), dropped);
  }
  changed |= drop_keys(member(step, "scheduler_block_ids"), dropped);
  changed |= drop_keys(member(step, "num_cached_block"), dropped);
  changed |= drop_keys(member(step, "num_drafts_offered"), dropped);
  changed |= drop_keys(member(step, "num_drafts_proposed"), dropped);
  changed |= drop_names(member(step, "preempted_by_command"), dropped);
  changed |= drop_objects(member(step, "prefill_checkpoints"), dropped);
  for (const char* time : {"block_hashes", "block_hashes_after_output"})
    if (Json* hashes = member(step, time))
      changed |= drop_objects(member(*hashes, "registered"), dropped);
  changed |= drop_objects(member(step, "preprocess_copies"), dropped);
  changed |= drop_objects(member(step, "postprocess_copies"), dropped);
  changed |= drop_parallel(member(step, "model_runner_output"), dropped);
  if (!drop_parallel(member(step, "input_batch"), dropped)) return changed;
  step.erase("attn_metadata");
  if (batch == TracedBatch::without_metadata_and_graph) step.erase("cudagraph");
  return true;
}

}  // namespace hybridscope
