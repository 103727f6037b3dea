// swift-tools-version: 6.1
// Macros: entities written as Swift classes, which require the package trait Macros. A separate package, so that other packages do not
// build swift-syntax.
import PackageDescription

let package = Package(
  name: "Macros",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "CipherData", path: "../..", traits: ["Macros"])],
  targets: [
    .testTarget(
      name: "MacroTests",
      dependencies: [.product(name: "CipherData", package: "CipherData"), .product(name: "CipherDataEngine", package: "CipherData")],
      exclude: ["Fixtures"],
      swiftSettings: [.enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("MemberImportVisibility")])
  ]
)
