#include "tests/kernels/cuda/golden_device.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "sessions/conformance/vector_states.h"

namespace hybridscope::test {

void must(const Status& status) {
  if (!status) throw std::runtime_error(status.error().message);
}

DeviceArray on_device(const std::vector<std::int32_t>& values) {
  return DeviceArray::create(std::span<const std::int32_t>(values)).value();
}

std::vector<std::int32_t> on_host(const DeviceArray& values) {
  std::vector<std::int32_t> result(values.size());
  must(cuda_status(cudaMemcpy(result.data(), values.data(), sizeof(std::int32_t) * values.size(),
                              cudaMemcpyDeviceToHost),
                   std::string("download of an array")));
  return result;
}

GoldenDevice::GoldenDevice(const VectorValue& config, const VectorValue& block_tables,
                           HostStates states) {
  const VectorBlockTables tables(block_tables);
  for (const TensorView<std::int32_t>& table : tables.views())
    tables_.push_back(on_device({table.data, table.data + table.size()}));
  for (const DeviceArray& table : tables_) table_pointers_.push_back(table.data());
  upload(states);
  const StateLayout layout =
      make_state_layout(read_mamba_state_tensors(config), tables.row_strides()).value();
  fused_ = FusedAlign::create(layout, addresses_of(states)).value();
}

void GoldenDevice::upload(HostStates states) {
  std::vector<Region> regions;
  for (const std::span<std::byte> state : states)
    regions.push_back({.begin = state.data(), .end = state.data() + state.size()});
  std::ranges::sort(regions, {}, &Region::begin);
  for (Region& region : regions) {
    if (!regions_.empty() && region.begin < regions_.back().end)
      regions_.back().end = std::max(regions_.back().end, region.end);
    else
      regions_.push_back(std::move(region));
  }
  for (Region& region : regions_)
    region.device =
        DeviceBuffer<std::byte>::create(std::span<const std::byte>(region.begin, region.end))
            .value();
}

std::vector<std::uintptr_t> GoldenDevice::addresses_of(HostStates states) const {
  std::vector<std::uintptr_t> addresses;
  for (const std::span<std::byte> state : states)
    for (const Region& region : regions_)
      if (state.data() >= region.begin && state.data() < region.end)
        addresses.push_back(reinterpret_cast<std::uintptr_t>(region.device.data()) +
                            static_cast<std::uintptr_t>(state.data() - region.begin));
  return addresses;
}

void GoldenDevice::download() const {
  for (const Region& region : regions_)
    must(cuda_status(
        cudaMemcpy(region.begin, region.device.data(),
                   static_cast<std::size_t>(region.end - region.begin), cudaMemcpyDeviceToHost),
        std::string("download of the states")));
}

}  // namespace hybridscope::test
