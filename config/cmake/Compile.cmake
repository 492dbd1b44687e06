# What every target is compiled with.
include(GNUInstallDirs)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
# Run from a folder that carries the shared libraries beside the binaries, or from the system's.
set(CMAKE_BUILD_RPATH "\$ORIGIN;\$ORIGIN/../lib")

# -O3 is what the kernels on the CPU are written for; assert() is for tests, never for input.
# -O1 for Debug: sanitized tests run the kernels lane by lane, which takes three times as long without.
set(CMAKE_C_FLAGS_DEBUG "-O1 -g")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O3 -g -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O3 -g -DNDEBUG")

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_C_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

# tpd_flags: linked by every target of ours, and installed with none of them.
add_library(tpd_flags INTERFACE)
target_include_directories(tpd_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})
target_compile_definitions(tpd_flags INTERFACE _GNU_SOURCE TPD_VERSION="${PROJECT_VERSION}")
target_compile_options(tpd_flags INTERFACE
  $<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Werror;-Wshadow;-Wpointer-arith;-Wcast-qual;-Wwrite-strings;-Wformat=2;-Wundef;-Wvla;-fno-strict-aliasing;-fstack-protector-strong>
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes;-Wmissing-prototypes;-Wold-style-definition>)
target_link_libraries(tpd_flags INTERFACE Threads::Threads)
if(TRANSPOSED_SANITIZE)
  target_compile_options(tpd_flags INTERFACE
    $<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${TRANSPOSED_SANITIZE};-fno-omit-frame-pointer;-fno-sanitize-recover=all>)
  target_link_options(tpd_flags INTERFACE -fsanitize=${TRANSPOSED_SANITIZE})
endif()
if(TRANSPOSED_COVERAGE)
  target_compile_options(tpd_flags INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:--coverage>)
  target_link_options(tpd_flags INTERFACE --coverage)
endif()

# tpd_floor(NAME folder... LINKS target...): one floor = one static library of every source in its folders.
function(tpd_floor name)
  cmake_parse_arguments(FLOOR "" "" "FOLDERS;LINKS" ${ARGN})
  set(sources "")
  foreach(folder IN LISTS FLOOR_FOLDERS)
    file(GLOB found CONFIGURE_DEPENDS ${folder}/*.c ${folder}/*.cpp)
    list(APPEND sources ${found})
  endforeach()
  if(NOT sources)
    add_library(${name} INTERFACE)
    return()
  endif()
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PRIVATE tpd_flags PUBLIC ${FLOOR_LINKS})
endfunction()
