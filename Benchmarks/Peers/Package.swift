// swift-tools-version: 6.1
// Peers: the benchmark's workloads with other libraries. A separate package, so that neither the library nor its benchmark depends on them.
import PackageDescription

let package = Package(
  name: "Peers",
  platforms: [.macOS(.v15)],
  dependencies: [.package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0")],
  targets: [
    // A link to the sources of the benchmark's data generator and checksums.
    .target(name: "BenchmarkData"),
    .executableTarget(name: "grdb-peer", dependencies: ["BenchmarkData", .product(name: "GRDB", package: "GRDB.swift")]),
  ]
)
