// The command-line tool `cipherdata`; everything it does is in CipherDataToolKit.
import CipherDataToolKit
import Foundation

exit(await Tool.run(Array(CommandLine.arguments.dropFirst())))
