// `hybridscope doctor`: what this build and this machine have.
#pragma once

namespace hybridscope {

int doctor_command();

}  // namespace hybridscope
