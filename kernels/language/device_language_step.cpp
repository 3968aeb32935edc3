#include "kernels/language/device_language_step.h"

namespace hybridscope {

Status DeviceLanguageStep::send(DeviceUpload& upload, const LaunchContext& context) {
  const Uploaded<std::byte> rest = front_.add(rest_.bytes());
  const std::vector<StepLaunch> launches = std::exchange(launches_, {});
  const Status sent = upload.send(front_, context);
  front_.clear();
  rest_.clear();
  if (!sent) return sent;
  const StepPieces pieces{.front = upload.data(), .rest = rest.in(upload.data())};
  for (const StepLaunch& launch : launches)
    if (Status launched = launch(pieces); !launched) return launched;
  return Ok{};
}

}  // namespace hybridscope
