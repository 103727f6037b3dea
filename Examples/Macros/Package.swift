// swift-tools-version: 6.1
// Macros: entities written as Swift classes, which the package trait Macros allows. A package of its own, since nobody else is to build swift-syntax.
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
