#include "kernels/cuda/device_map.h"

namespace hybridscope {

Status send_map(const MemoryMap& map, const LaunchContext& context, DeviceMap& device_map) {
  ArrayPiece piece;
  const auto states = piece.add(map.states);
  const auto group_states = piece.add(map.group_states);
  const auto temporal_kinds = piece.add(map.temporal_kinds);
  const auto conv_kinds = piece.add(map.conv_kinds);
  if (Status status = device_map.upload.send(piece, context); !status) return status;
  const std::byte* data = device_map.upload.data();
  device_map.view = view_of(map);
  device_map.view.states = states.in(data);
  device_map.view.group_states = group_states.in(data);
  device_map.view.temporal_kinds = temporal_kinds.in(data);
  device_map.view.conv_kinds = conv_kinds.in(data);
  device_map.widest_group = map.widest_group;
  return Ok{};
}

}  // namespace hybridscope
