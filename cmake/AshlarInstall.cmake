# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs headers, the sources of ashlar::compiled, exported targets, config and version files, and
# the find modules of CBLAS and NCCL.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(ashlar_package_dir "${CMAKE_INSTALL_DATADIR}/cmake/ashlar")

# Each target has its own export file, so that the config file can load only the targets whose
# packages the user has.
get_property(ashlar_libraries GLOBAL PROPERTY ASHLAR_LIBRARIES)
foreach(library IN LISTS ashlar_libraries)
  set(kernels "")
  if(library STREQUAL "ashlar_cuda")
    set(kernels FILE_SET kernels DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
  endif()
  install(TARGETS ${library} EXPORT ${library}
    FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" ${kernels})
  install(EXPORT ${library} NAMESPACE ashlar:: FILE ${library}_targets.cmake
    DESTINATION "${ashlar_package_dir}")
endforeach()

configure_package_config_file(cmake/ashlarConfig.cmake.in
  "${PROJECT_BINARY_DIR}/package/ashlarConfig.cmake" INSTALL_DESTINATION "${ashlar_package_dir}"
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
# The package contains only sources, so it does not depend on the word size (ARCH_INDEPENDENT).
write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/ashlarConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)

install(FILES
  "${PROJECT_BINARY_DIR}/package/ashlarConfig.cmake"
  "${PROJECT_BINARY_DIR}/package/ashlarConfigVersion.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/AshlarCompiled.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/AshlarCuda.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/AshlarCudaPackages.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/FindCBLAS.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/FindNCCL.cmake"
  DESTINATION "${ashlar_package_dir}")
install(DIRECTORY include/ashlar/compiled DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/ashlar"
  FILES_MATCHING PATTERN "*.cpp")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
