#include "gui/model/open_traffic.h"

#include <nlohmann/json.hpp>

#include "gui/model/live_run.h"
#include "sessions/scenario/traffic.h"
#include "sessions/scenario/traffic_defaults.h"
#include "sessions/text/line_source.h"

namespace hybridscope {

bool is_traffic(const std::string& path) {
  auto lines = LineSource::open(path);
  if (!lines.ok()) return false;
  const auto line = lines.value().next();
  if (!line.ok() || !line.value()) return false;
  const auto request = nlohmann::json::parse(line.value()->text, nullptr, false);
  return request.is_object() && request.contains("input_length") && request.contains("hash_ids");
}

Result<std::unique_ptr<ShownRun>> open_traffic(const std::string& path) {
  auto traffic = read_traffic_file(path);
  if (!traffic.ok()) return traffic.error();
  auto plan = plan_traffic(std::move(traffic).value(),
                           {.name = path, .model = kDefaultTrafficModel, .settings = {}});
  if (!plan.ok()) return plan.error();
  auto run = LiveRun::create(std::move(plan).value());
  if (!run.ok()) return run.error();
  return std::unique_ptr<ShownRun>(std::move(run).value());
}

}  // namespace hybridscope
