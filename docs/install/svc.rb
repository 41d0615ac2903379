# A formula for a tap of your own; the version and the checksum are those of a release:
#   curl -sL <url> | shasum -a 256
class Svc < Formula
  desc "Job coordinator for language models"
  homepage "https://www.npmjs.com/package/@svc-jobs/svc"
  url "https://registry.npmjs.org/@svc-jobs/svc/-/svc-0.1.0.tgz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "MIT"

  depends_on "node"

  def install
    system "npm", "install", *std_npm_args
    bin.install_symlink Dir["#{libexec}/bin/*"]
    generate_completions_from_executable(bin/"svc", "completion", shells: [:bash, :zsh, :fish])
  end

  service do
    run [opt_bin/"svc", "coordinator"]
    keep_alive crashed: true
    working_dir var/"svc"
    environment_variables SVC_DATA_DIR: var/"svc"
    log_path var/"log/svc.log"
    error_log_path var/"log/svc.log"
  end

  def post_install
    (var/"svc").mkpath
    chmod 0700, var/"svc"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/svc --version")
    assert_match "14 of 14 jobs completed", shell_output("#{bin}/svc demo --once --port 0")
  end
end
