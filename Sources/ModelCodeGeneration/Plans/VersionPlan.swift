// VersionPlan: the versions of a model's bundle, as generated code names them.
import Foundation
import ObjectModel

/// The versions of a model's bundle, the oldest first.
struct VersionPlan {
  struct Version {
    /// The version's name, such as `Library 2`.
    let name: String
    /// The name in Swift, such as `library2`.
    let identifier: String
    /// The text of the version's file, without what only editors use; nil for the version that the code is generated from.
    let text: String?
  }
  let versions: [Version]

  /// The versions of a bundle; nil where there is only one, which has nothing to be migrated from.
  ///
  /// - Throws: ``ModelFileError`` when a version has text that its file cannot hold.
  @_optimize(none) init?(_ bundle: VersionedModel) throws(ModelFileError) {
    guard bundle.versions.count > 1 else { return nil }
    var taken: Set = ["all", "init", "self"]
    var versions: [Version] = []
    for version in bundle.versions {
      let isCurrent = version.name == bundle.currentVersionName
      let text = isCurrent ? nil : String(decoding: try version.model.xmlData(), as: UTF8.self)
      let plain = Self.camelCase(version.name)
      var (identifier, copy) = (plain, 2)
      while !taken.insert(identifier).inserted { (identifier, copy) = ("\(plain)_\(copy)", copy + 1) }
      versions.append(Version(name: version.name, identifier: identifier, text: text))
    }
    self.versions = versions
  }

  /// `Library 2` as `library2`.
  private static func camelCase(_ name: String) -> String {
    let words = name.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
    let joined = words.enumerated().map {
      $0 == 0 ? $1.prefix(1).lowercased() + $1.dropFirst() : $1.prefix(1).uppercased() + $1.dropFirst()
    }
    return SwiftText.plainIdentifier(joined.joined())
  }
}
