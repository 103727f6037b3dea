// swift-tools-version: 6.1
// Benchmarks: a raw C baseline and CipherData with the same data in the same run. A nested package, so that users do not depend on it.
import PackageDescription

let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "CipherData", path: "..", traits: [])],
  targets: [
    .systemLibrary(name: "SystemSQLCipher", pkgConfig: "sqlcipher", providers: [.apt(["libsqlcipher-dev"])]),
    // The data generator and the checksums, which both sides use.
    .target(name: "BenchmarkData"),
    // A good hand-written C program: the limit for comparison.
    .target(name: "RawSQLCipher", dependencies: ["BenchmarkData", "SystemSQLCipher"]),
    // The generated classes of the models, each in a module of its own, as users have them.
    .target(
      name: "LibraryClasses", dependencies: [.product(name: "CipherData", package: "CipherData")], swiftSettings: strict,
      plugins: [.plugin(name: "GenerateManagedObjects", package: "CipherData")]),
    .target(
      name: "ArchiveClasses", dependencies: [.product(name: "CipherData", package: "CipherData")], swiftSettings: strict,
      plugins: [.plugin(name: "GenerateManagedObjects", package: "CipherData")]),
    .target(
      name: "StaffClasses", dependencies: [.product(name: "CipherData", package: "CipherData")], swiftSettings: strict,
      plugins: [.plugin(name: "GenerateManagedObjects", package: "CipherData")]),
    .executableTarget(
      name: "benchmark",
      dependencies: [
        "BenchmarkData", "RawSQLCipher", "LibraryClasses", "ArchiveClasses", "StaffClasses",
        .product(name: "CipherData", package: "CipherData"), .product(name: "CipherDataSync", package: "CipherData"),
        .product(name: "_AllocationCounter", package: "CipherData"),
      ], swiftSettings: strict),
  ]
)

// The cost of code that imports CoreData, on systems without a framework of that name.
#if os(Linux)
  package.targets.append(
    .executableTarget(
      name: "core-data-module",
      dependencies: [
        "LibraryClasses", .product(name: "CipherData", package: "CipherData"), .product(name: "CoreData", package: "CipherData"),
      ], resources: [.copy("Bookshop.xcdatamodeld")], swiftSettings: [.swiftLanguageMode(.v5)],
      plugins: [.plugin(name: "CoreDataSources", package: "CipherData")]))
#endif
