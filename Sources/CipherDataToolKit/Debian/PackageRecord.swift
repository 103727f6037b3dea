/// A package of Debian's package index or of dpkg's status file.
package struct PackageRecord: Sendable, Hashable {
  package var name: String
  /// The version, including epoch and revision.
  package var version: String
  /// The architecture for which the package was built; `all` for any.
  package var architecture: String
  /// The priority: `required`, `important`, `standard`, `optional`, or `extra`.
  package var priority: String?
  /// Whether the package is marked as essential for the system.
  package var essential = false
  /// The installed size in KiB.
  package var installedSize: Int64?
  /// The size of the package's archive in bytes.
  package var downloadSize: Int64?
  /// The first line of the description.
  package var summary: String?
  /// The home page, an absolute URI.
  package var homepage: String?
  /// The SHA-256 digest of the package's archive, 32 bytes.
  package var sha256: [UInt8]?
  /// The section of the archive.
  package var section: String?
  package var maintainer: MaintainerRecord?
  /// The debtags in file order, without duplicates.
  package var tags: [String] = []
  /// The relations to other packages, ordered by ``RelationKind`` and then as in the field.
  package var relations: [RelationRecord] = []
}

/// The maintainer of a package.
package struct MaintainerRecord: Sendable, Hashable {
  /// The name; `nil` if only an address is given.
  package var name: String?
  /// The email address.
  package var email: String

  package init(name: String?, email: String) {
    self.name = name
    self.email = email
  }
}

/// The kind of a relation between packages.
package enum RelationKind: Int, Sendable, Hashable, CaseIterable {
  case depends, preDepends, recommends, suggests, conflicts, breaks, replaces, enhances, provides

  /// The lowercase name of the field in the control file.
  package var field: StaticString {
    switch self {
    case .depends: "depends"
    case .preDepends: "pre-depends"
    case .recommends: "recommends"
    case .suggests: "suggests"
    case .conflicts: "conflicts"
    case .breaks: "breaks"
    case .replaces: "replaces"
    case .enhances: "enhances"
    case .provides: "provides"
    }
  }

  /// The name of the entity in the Debian archive's model.
  package var entityName: String {
    switch self {
    case .depends: "Dependency"
    case .preDepends: "PreDependency"
    case .recommends: "Recommendation"
    case .suggests: "Suggestion"
    case .conflicts: "Conflict"
    case .breaks: "Breakage"
    case .replaces: "Replacement"
    case .enhances: "Enhancement"
    case .provides: "Provision"
    }
  }
}

/// A relation: a list of alternatives, any of which satisfies it.
package struct RelationRecord: Sendable, Hashable {
  package var kind: RelationKind
  /// The alternatives in the order of preference.
  package var alternatives: [AlternativeRecord]

  package init(kind: RelationKind, alternatives: [AlternativeRecord]) {
    self.kind = kind
    self.alternatives = alternatives
  }
}

/// One alternative of a relation.
package struct AlternativeRecord: Sendable, Hashable {
  /// The name of the package, without an architecture qualifier such as `:any`.
  package var packageName: String
  /// The operator of the version comparison: `<<`, `<=`, `=`, `>=`, or `>>`; `nil` for any version.
  package var comparison: String?
  /// The version on the right side of the comparison; `nil` for any version.
  package var version: String?

  package init(packageName: String, comparison: String? = nil, version: String? = nil) {
    self.packageName = packageName
    self.comparison = comparison
    self.version = version
  }
}
