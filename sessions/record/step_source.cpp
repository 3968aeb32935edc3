#include "sessions/record/step_source.h"

namespace hybridscope {

Result<const StepStamp*> InterruptibleSource::next() {
  if (interrupted_()) return Error{ErrorKind::not_available, "interrupted"};
  return ForwardedSource::next();
}

}  // namespace hybridscope
