"""What the queries of a release cost together, against the definition and other accountants."""

import pytest

from recveil.release.ledger import epsilon_of, total_mu


class TestOtherAccountants:
    """dp-accounting and OpenDP, both well kept, come to the same, or to more where they bound."""

    @pytest.mark.parametrize("noises", [(1.0,), (4.0, 3.0), (0.3, 0.8, 5.0), (20.0, 30.0)])
    @pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
    def test_privacy_loss_distributions_of_dp_accounting(self, noises, delta):
        import dp_accounting
        from dp_accounting.pld import PLDAccountant
        from dp_accounting.rdp import RdpAccountant

        ours = epsilon_of(total_mu(1 / noise for noise in noises), delta)
        exact, bound = PLDAccountant(value_discretization_interval=1e-4), RdpAccountant()
        for noise in noises:
            event = dp_accounting.GaussianDpEvent(noise)
            exact.compose(event)
            bound.compose(event)
        assert exact.get_epsilon(delta) == pytest.approx(ours, rel=1e-3, abs=2e-4)
        assert ours <= exact.get_epsilon(delta) * (1 + 2e-9)  # it rounds up, we by 1e-9
        assert ours <= bound.get_epsilon(delta) <= 1.6 * ours + 0.1
