import Foundation
import ObjectModel

/// The versions of a model's bundle, oldest first.
struct VersionPlan {
  struct Version {
    /// The name of the version, such as `Library 2`.
    let name: String
    /// The name in Swift, such as `library2`.
    let identifier: String
    /// The text of the version's file without elements that only editors use; `nil` for the version from which the code is generated.
    let text: String?
  }
  let versions: [Version]

  /// Creates the plan of a bundle; `nil` if it has only one version, so that there is nothing to migrate from.
  ///
  /// - Throws: ``ModelFileError`` if a version contains text that cannot be written to a file.
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

  /// Returns a name in camel case: `library2` for `Library 2`.
  private static func camelCase(_ name: String) -> String {
    let words = name.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
    let joined = words.enumerated().map {
      $0 == 0 ? $1.prefix(1).lowercased() + $1.dropFirst() : $1.prefix(1).uppercased() + $1.dropFirst()
    }
    return SwiftText.plainIdentifier(joined.joined())
  }
}
