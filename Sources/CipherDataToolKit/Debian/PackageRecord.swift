// PackageRecord: what a stanza of Debian's package index says of a package, as values.

/// A package of the index or of dpkg's status file.
package struct PackageRecord: Sendable, Hashable {
  /// The package's name.
  package var name: String
  /// Its version, epoch and revision included.
  package var version: String
  /// The architecture it was built for; `all` for any.
  package var architecture: String
  /// How important it is: `required`, `important`, `standard`, `optional`, `extra`.
  package var priority: String?
  /// Whether the system cannot do without it.
  package var essential = false
  /// The size it takes when installed, in KiB.
  package var installedSize: Int64?
  /// The size of its archive, in bytes.
  package var downloadSize: Int64?
  /// The first line of its description.
  package var summary: String?
  /// Its home page, an absolute URI.
  package var homepage: String?
  /// The SHA-256 of its archive, 32 bytes.
  package var sha256: [UInt8]?
  /// The section it lies in.
  package var section: String?
  /// Who maintains it.
  package var maintainer: MaintainerRecord?
  /// Its debtags, each once, in their order.
  package var tags: [String] = []
  /// What it says of other packages, in the order of ``RelationKind`` and then of the field.
  package var relations: [RelationRecord] = []
}

/// Who maintains a package.
package struct MaintainerRecord: Sendable, Hashable {
  /// The name; nil when only an address is given.
  package var name: String?
  /// The mail address.
  package var email: String

  /// Makes a maintainer.
  package init(name: String?, email: String) {
    self.name = name
    self.email = email
  }
}

/// What one package says of others.
package enum RelationKind: Int, Sendable, Hashable, CaseIterable {
  case depends, preDepends, recommends, suggests, conflicts, breaks, replaces, enhances, provides

  /// The field of the control file, in lower case.
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

  /// The entity of the Debian archive's model.
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

/// One relation: a list of alternatives, of which one is enough.
package struct RelationRecord: Sendable, Hashable {
  /// What kind of relation it is.
  package var kind: RelationKind
  /// The alternatives, in the order of preference.
  package var alternatives: [AlternativeRecord]

  /// Makes a relation.
  package init(kind: RelationKind, alternatives: [AlternativeRecord]) {
    self.kind = kind
    self.alternatives = alternatives
  }
}

/// One alternative of a relation.
package struct AlternativeRecord: Sendable, Hashable {
  /// The name of the package, without an architecture qualifier such as `:any`.
  package var packageName: String
  /// How the version is compared: `<<`, `<=`, `=`, `>=`, `>>`; nil when any version does.
  package var comparison: String?
  /// The version compared with; nil when any version does.
  package var version: String?

  /// Makes an alternative.
  package init(packageName: String, comparison: String? = nil, version: String? = nil) {
    self.packageName = packageName
    self.comparison = comparison
    self.version = version
  }
}
