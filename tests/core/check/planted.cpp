#include "tests/core/check/planted.h"

#include "core/base/result.h"

namespace hybridscope::test {
namespace {

template <class T>
std::span<T> move_here(std::deque<std::vector<T>>& storage, std::span<const T> values) {
  storage.emplace_back(values.begin(), values.end());
  return storage.back();
}

template <class T>
std::span<T> edit_view(std::deque<std::vector<T>>& storage, TensorView<T>& view) {
  HS_EXPECT(view.present);
  const auto size = static_cast<std::size_t>(view.size());
  const std::span<T> moved = move_here(storage, std::span<const T>(view.data, size));
  view.data = moved.data();
  return moved;
}

}  // namespace

std::span<std::int32_t> OwnedArrays::edit(TensorView<std::int32_t>& view) {
  return edit_view(numbers_, view);
}

std::span<std::uint8_t> OwnedArrays::edit(TensorView<std::uint8_t>& view) {
  return edit_view(flags_, view);
}

std::span<std::int32_t> OwnedArrays::edit(std::span<const std::int32_t>& view) {
  const auto moved = move_here(numbers_, view);
  view = moved;
  return moved;
}

std::span<std::uint8_t> OwnedArrays::edit(std::span<const std::uint8_t>& view) {
  const auto moved = move_here(flags_, view);
  view = moved;
  return moved;
}

PlantedRun& PlantedRun::add(const AddRequest& request) {
  run_.add(request);
  return *this;
}

PlantedRun& PlantedRun::apply(const Command& command) {
  const Status status = engine().apply(command);
  EXPECT_TRUE(status.ok());
  return *this;
}

PlantedRun& PlantedRun::steps(int count) {
  for (int i = 0; i < count; ++i) run_.step();
  return *this;
}

PlantedRun& PlantedRun::step(const Plant& plant) {
  EXPECT_TRUE(nothing_found(findings())) << "before the fault was planted";
  run_.step([&](StepTrace& trace) { plant(trace, arrays_); });
  return *this;
}

PlantedRun& PlantedRun::finish() {
  EXPECT_TRUE(run_.finish());
  return *this;
}

MambaMetadata& mamba_of(StepTrace& trace, std::size_t group) {
  auto& metadata = trace.groups.at(group).metadata.value();
  if (auto* mamba2 = std::get_if<Mamba2Metadata>(&metadata)) return mamba2->base;
  return std::get<MambaMetadata>(metadata);
}

Mamba2Metadata& mamba2_of(StepTrace& trace, std::size_t group) {
  return std::get<Mamba2Metadata>(trace.groups.at(group).metadata.value());
}

GdnMetadata& gdn_of(StepTrace& trace, std::size_t group) {
  return std::get<GdnMetadata>(trace.groups.at(group).metadata.value());
}

std::size_t drop_events(std::vector<CacheEvent>& events,
                        const std::function<bool(const CacheEvent&)>& predicate) {
  return std::erase_if(events, predicate);
}

CacheEvent& event_of(std::vector<CacheEvent>& events, CacheEventKind kind, std::int32_t group) {
  for (CacheEvent& event : events)
    if (event.kind == kind && event.group == group) return event;
  HS_EXPECT(false);
  return events.front();
}

}  // namespace hybridscope::test
