// swift-tools-version: 6.1
// Peers: what others' libraries take for the benchmark's workloads. A package of its own, so that nothing of theirs reaches the library or its benchmark.
import PackageDescription

let package = Package(
  name: "Peers",
  platforms: [.macOS(.v15)],
  dependencies: [.package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0")],
  targets: [
    // The data generator and the checksums of the benchmark: a link to its sources.
    .target(name: "BenchmarkData"),
    .executableTarget(name: "grdb-peer", dependencies: ["BenchmarkData", .product(name: "GRDB", package: "GRDB.swift")]),
  ]
)
