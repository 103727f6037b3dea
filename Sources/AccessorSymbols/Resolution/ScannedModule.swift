internal import ObjectModel

/// The scanned sources of a module.
package struct ScannedModule: Sendable {
  package var name: String
  package var sources: [ScannedSource]

  package init(name: String, sources: [ScannedSource]) { (self.name, self.sources) = (name, sources) }

  /// Returns the text that distinguishes declarations private to a file; `nil` if libcrypto lacks MD5.
  static func discriminator(ofFile file: String, in module: String) -> String? {
    let name = file.split(separator: "/").last.map(String.init) ?? file
    guard let digest = ContentDigest.md5(Array((module + name).utf8)) else { return nil }
    let digits = digest.map { byte in
      let text = String(byte, radix: 16, uppercase: true)
      return text.count == 1 ? "0" + text : text
    }
    return "_" + digits.joined()
  }
}

/// An evaluator for `#if` conditions on Linux. Flags of the build are unknown.
struct BuildConditions: Sendable {
  /// The modules that are known to be available.
  var modules: Set<String>

  private static let languageModules: Set<String> = [
    "Swift", "Foundation", "FoundationEssentials", "FoundationInternationalization", "FoundationNetworking", "FoundationXML", "CoreData",
    "Dispatch", "Glibc", "Observation", "Synchronization", "XCTest", "Testing", "CipherData",
  ]

  /// Frameworks of Apple's systems that Core Data sources often check for.
  static let appleModules: Set<String> = [
    "ObjectiveC", "Darwin", "UIKit", "AppKit", "Cocoa", "SwiftUI", "WatchKit", "WidgetKit", "Combine", "CloudKit", "CoreGraphics",
    "CoreImage", "CoreLocation", "CoreSpotlight", "CoreText", "CoreFoundation", "MapKit", "Contacts", "EventKit", "HealthKit", "Intents",
    "AppIntents", "StoreKit", "Security", "UserNotifications", "QuartzCore", "AVFoundation", "Photos", "OSLog", "os", "MobileCoreServices",
    "UniformTypeIdentifiers", "SwiftData", "Network", "CryptoKit", "LocalAuthentication", "MetricKit", "BackgroundTasks", "PDFKit",
  ]

  /// Returns whether none of the conditions is known to be false.
  func mayHold(_ conditions: [String]) -> Bool { conditions.allSatisfy { holds($0) != false } }

  /// Returns whether a condition holds; `nil` if unknown.
  func holds(_ condition: String) -> Bool? {
    var cursor = TokenCursor(SourceLexer.tokens(of: condition))
    return either(&cursor)
  }

  private func either(_ cursor: inout TokenCursor) -> Bool? {
    var result = both(&cursor)
    while cursor.take("|"), cursor.take("|") {
      let other = both(&cursor)
      result = result == true || other == true ? true : result == nil || other == nil ? nil : false
    }
    return result
  }

  private func both(_ cursor: inout TokenCursor) -> Bool? {
    var result = single(&cursor)
    while cursor.take("&"), cursor.take("&") {
      let other = single(&cursor)
      result = result == false || other == false ? false : result == nil || other == nil ? nil : true
    }
    return result
  }

  private func single(_ cursor: inout TokenCursor) -> Bool? {
    if cursor.take("!") { return single(&cursor).map { !$0 } }
    if cursor.take("(") {
      let result = either(&cursor)
      _ = cursor.take(")")
      return result
    }
    guard let name = cursor.token?.name else { return nil }
    cursor.position += 1
    let argument = cursor.isAt("(") ? cursor.token(after: 1)?.name : nil
    if cursor.isAt("(") { cursor.skipBracketed() }
    switch name {
    case "true": return true
    case "false", "targetEnvironment", "_runtime": return false
    case "os": return argument == "Linux"
    case "canImport": return argument.flatMap(isAvailable)
    default: return nil
    }
  }

  private func isAvailable(_ module: String) -> Bool? {
    if modules.contains(module) || Self.languageModules.contains(module) { return true }
    return Self.appleModules.contains(module) ? false : nil
  }
}
