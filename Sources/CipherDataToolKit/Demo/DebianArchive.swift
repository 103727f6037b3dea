package import ObjectModel

/// The Debian package archive as a model.
package enum DebianArchive {
  /// The model declared in Swift. A test compares it with `Schemas/DebianArchive.xcdatamodeld`.
  package static let model = ManagedObjectModel(version: "debian-archive-1") {
    Entity("Package") {
      Attribute("name", .string).required().length(1...)
      Attribute("version", .string).required().length(1...)
      Attribute("architecture", .string).required().length(1...)
      Attribute("priority", .string)
      Attribute("essential", .boolean).required().initially(false)
      Attribute("installedSize", .integer64).range(0...)
      Attribute("downloadSize", .integer64).range(0...)
      Attribute("summary", .string)
      Attribute("homepage", .uri)
      Attribute("sha256", .binary)
      Relationship("section", to: "Section", inverse: "packages")
      Relationship("maintainer", to: "Maintainer", inverse: "packages")
      Relationship("tags", toMany: "Tag", inverse: "packages")
      Relationship("relations", toMany: "PackageRelation", inverse: "package").onDelete(.cascade)
      Index("byName", on: "name")
      Index("byInstalledSize", .descending("installedSize"))
      Unique("name", "version", "architecture")
    }
    Entity("Section") {
      Attribute("name", .string).required().length(1...)
      Relationship("packages", toMany: "Package", inverse: "section")
      Index("byName", on: "name")
      Unique("name")
    }
    Entity("Maintainer") {
      Attribute("name", .string)
      Attribute("email", .string).required().length(1...)
      Relationship("packages", toMany: "Package", inverse: "maintainer")
      Index("byName", on: "name")
      Unique("email")
    }
    Entity("Tag") {
      Attribute("name", .string).required().length(1...)
      Relationship("packages", toMany: "Package", inverse: "tags")
      Index("byName", on: "name")
      Unique("name")
    }
    Entity("PackageRelation", abstract: true) {
      Relationship("package", to: "Package", inverse: "relations").required()
      Relationship("alternatives", toMany: "Alternative", inverse: "relation").ordered().onDelete(.cascade)
    }
    for kind in RelationKind.allCases { Entity(kind.entityName, parent: "PackageRelation") }
    Entity("Alternative") {
      Attribute("packageName", .string).required().length(1...)
      Attribute("comparison", .string).matching("<<|<=|=|>=|>>")
      Attribute("version", .string)
      Relationship("relation", to: "PackageRelation", inverse: "alternatives").required()
      Index("byPackageName", on: "packageName")
    }
  }

  /// A dozen packages, for machines without a dpkg database.
  package static let sample = """
    Package: base-files
    Essential: yes
    Version: 1.4
    Architecture: all
    Priority: required
    Section: admin
    Installed-Size: 340
    Maintainer: Sample Base Team <base@sample.example>
    Pre-Depends: awk
    Description: the folders and files that every system has

    Package: libc
    Version: 2.36
    Architecture: all
    Priority: required
    Section: libs
    Installed-Size: 12988
    Maintainer: Sample Library Team <libraries@sample.example>
    Depends: libgcc
    Recommends: locale-data | locale-data-all
    Description: the standard library of C programs

    Package: libgcc
    Version: 12.2
    Architecture: all
    Priority: required
    Section: libs
    Installed-Size: 140
    Maintainer: Sample Library Team <libraries@sample.example>
    Depends: gcc-base (= 12.2), libc (>= 2.36)
    Description: what compiled programs need beside the C library

    Package: gcc-base
    Version: 12.2
    Architecture: all
    Priority: required
    Section: libs
    Installed-Size: 100
    Maintainer: Sample Library Team <libraries@sample.example>
    Description: folders of the compiler collection

    Package: awk
    Version: 1.3.4
    Architecture: all
    Priority: required
    Section: utils
    Installed-Size: 263
    Maintainer: Sample Text Team <text@sample.example>
    Pre-Depends: libc (>= 2.34)
    Description: pattern scanning and text processing
    Tag: implemented-in::c, role::program, use::filtering

    Package: shell
    Essential: yes
    Version: 5.2
    Architecture: all
    Priority: required
    Section: shells
    Installed-Size: 7164
    Maintainer: Sample Base Team <base@sample.example>
    Pre-Depends: libc (>= 2.36), libterm (>= 6)
    Depends: base-files (>= 1.2) | compat-files
    Suggests: shell-doc
    Description: command interpreter
    Tag: implemented-in::c, interface::{commandline,shell}, role::program

    Package: libterm
    Version: 6.4
    Architecture: all
    Priority: required
    Section: libs
    Installed-Size: 538
    Maintainer: Sample Library Team <libraries@sample.example>
    Depends: libc (>= 2.34)
    Description: terminal descriptions for programs
    Tag: devel::library, role::shared-lib

    Package: editor
    Version: 9.0
    Architecture: all
    Priority: optional
    Section: editors
    Installed-Size: 3896
    Maintainer: Sample Text Team <text@sample.example>
    Depends: libc (>= 2.34), libterm (>= 6)
    Suggests: editor-doc, spelling | dictionary
    Homepage: https://editor.sample.example/
    Description: text editor for terminals
    Tag: implemented-in::c, interface::text-mode, role::program, use::editing

    Package: database
    Version: 3.40
    Architecture: all
    Priority: optional
    Section: database
    Installed-Size: 1689
    Maintainer: Sample Data Team <data@sample.example>
    Depends: libc (>= 2.34), libterm (>= 6)
    Suggests: database-doc
    Description: command line for database files
    Tag: implemented-in::c, interface::commandline, role::program, works-with::db

    Package: interpreter
    Version: 3.11
    Architecture: all
    Priority: optional
    Section: interpreters
    Installed-Size: 6870
    Maintainer: Sample Language Team <languages@sample.example>
    Depends: libc (>= 2.36), libterm (>= 6)
    Suggests: interpreter-doc, editor
    Description: interactive programming language
    Tag: devel::interpreter, implemented-in::c, role::program

    Package: strategy-game
    Version: 0.26
    Architecture: all
    Priority: optional
    Section: games
    Installed-Size: 28591
    Maintainer: Sample Games Team <games@sample.example>
    Depends: libc (>= 2.34), strategy-game-data (>= 0.26), strategy-game-data (<< 0.27)
    Description: game of ancient cities
    Tag: game::strategy, interface::graphical, role::program

    Package: strategy-game-data
    Version: 0.26
    Architecture: all
    Priority: optional
    Section: games
    Installed-Size: 3218736
    Maintainer: Sample Games Team <games@sample.example>
    Suggests: strategy-game
    Breaks: strategy-game (<< 0.26)
    Replaces: strategy-game (<< 0.20)
    Description: pictures and sounds of a game of ancient cities
    Tag: game::strategy, role::app-data
    """
}
